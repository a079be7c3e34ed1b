"""The decisions, and nothing else: no await, clock, log, environment or socket.

Each file imports only from files that stand before it in this list (a test holds this):

    errors        whose fault it is, so who is told
    codec         JSON in and out without changing a number
    body          a JSON object whose untouched members keep their bytes
    chunks        replies as chunks: one shape for streamed and buffered
    calls         tool calls, put together from the fragments of a stream
    tools         one entry of `tools`
    schema        are a call's arguments valid?
    ranking       which tools fit a query
    catalog       all tools of a request: names, families, index
    policy        everything that can be set, and who is direct, deferred or hidden
    wording       every word that the model reads
    manifest      the listing of the deferred tools
    shape         a catalog as a policy shows it
    choice        `tool_choice` and what it asks for
    conversation  the client's messages: what they call, and what we add
    search        a search call: its arguments, its hits, its answer
    plan          is this request our business, and what goes upstream?
    round         one upstream reply, held back until it is known whom it is for
    reply         the one reply that the rounds of a turn add up to
    turn          one client request, played in rounds
"""
