"""Do apps get real tool calls from a model that only writes text? `python -m bench.dialects`.

block        what a request in a dialect says, read back: the tools, the messages, the choice
prose        what a tool-calling model replied, as a model without tool calling writes it
textonly     an upstream that refuses `tools` and only writes text, in front of one that calls
scenarios    the OpenAI SDK over it: every dialect, folded and not, streamed and not
clients      a directory of client scripts over it, where there is one
model        twelve tasks with a real model, where there is one
"""
