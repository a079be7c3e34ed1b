"""Unmodified clients through Toolfold: what they could do without it, they can still do.

harness      a directory of client scripts with a strict upstream: started, run, compared
trial        the clients through Toolfold, for each strategy, held against a run without it
"""
