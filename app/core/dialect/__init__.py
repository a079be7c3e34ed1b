"""Dialects: complete ways of speaking tools with a model that has no tool calling.

A dialect is the catalog that the model reads, the syntax of its calls, the envelope of
results and how history is replayed. The four are chosen together and never mixed. The turn
does not know that one is spoken: a request loses its `tools` on the way to the upstream, and
a reply gets its `tool_calls` on the way back.

    tags        how a call and a result begin and end in a text, and what may not look so
    said        one call, as text says it
    jsontag     the dialect `json_tag`: a call is JSON
    pformat     the dialect `pformat`: a call is positional
    catalog     what the model reads of the tools
    scanner     a text with calls in it, read as it arrives
    history     messages with tool traffic, as text
    request     one request, rendered
    speech      one request and its reply
"""
