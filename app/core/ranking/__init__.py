"""Which tools fit a query.

words     text into comparable words
lexical   the default ranker: an inverted index over weighted fields
"""
