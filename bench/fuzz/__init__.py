"""Inputs that nobody would think of: `python -m bench.fuzz TARGET SECONDS`.

targets    what is fed, and what must hold whatever it is fed
"""
