"""The decisions, and nothing else: no await, clock, log, environment or socket.

Each file imports only from files that stand before it in this list (a test holds this):

    errors        whose fault it is, so who is told
    codec         JSON in and out without changing a number
    body          a JSON object whose untouched members keep their bytes
    chunks        replies as chunks: one shape for streamed and buffered
    bill          what the rounds of a turn cost
    calls         tool calls, put together from the fragments of a stream
    tools         one entry of `tools`
    findings      what is odd in the text of a tool
    schema        do a call's arguments fit it, and does it fit a budget?
    hits          what rankers say of a search
    ranking       which tools fit a query
    selfsearch    clients that defer tools by themselves
    catalog       all tools of a request: names, families, index
    policy        everything that can be set
    exposure      who is direct, deferred or hidden
    narrowing     what a request's headers may change of a policy
    traits        what is known of an upstream, and shapes what we build for it
    wording       every word that the model reads
    wrap          the strategy in which found tools are called through one tool
    manifest      the listing of the deferred tools
    shape         a catalog as a policy shows it
    choice        `tool_choice` and what it asks for
    terms         who may be known in this request, and what our tools are called
    answer        what a call of ours is answered
    exchange      a hidden round, as it goes into the conversation
    memory        what is remembered of a turn
    conversation  the client's messages, read
    restore       the conversation as the upstream knows it
    declared      which of the deferred tools are declared, and how
    gain          does folding pay?
    guard         what is refused where a policy hides tools
    fold          the request as the upstream will see it, ready for its rounds
    plan          is this request our business, and what goes upstream?
    refusal       what an upstream says that refuses the form of a request
    remedy        what a refusal teaches of an upstream
    mend          what is done about a round that was refused
    search        a search call: its arguments and its hits
    address       whom a call is for
    round         one upstream reply, held back until it is known whom it is for
    reply         the one reply that the rounds of a turn add up to
    dialect       tools as text, for models that have no tool calling
    verdict       what is to be done about a call that the model got wrong
    turn          one client request, played in rounds
"""
