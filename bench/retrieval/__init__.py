"""Does a search find the tool? `python -m bench.retrieval DIR` asks every query set in a folder.

queries  query sets: tools, and queries whose right tools are known
rankers  what is asked, by name
score    how well and how fast a ranker answered a set
report   the tables
"""
