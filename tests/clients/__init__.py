"""Agents of frameworks, unmodified, through a Toolfold on a real socket.

weather       what each is asked, and the upstream's scripts, for each strategy
"""
