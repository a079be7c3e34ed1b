"""`toolfold demo`: what folding is worth, shown on this machine with no key and no network.

The room holds a catalog, the tools behind it, a scripted model served the way OpenAI serves one,
and an app that drives them through Toolfold and without it. The files form a ladder: each imports
only those before it.

    fields · services · catalog              300 tools of invented services
    desk · tasks · dialogue                  what a few of them do, and what the app wants done
    refusal · keys · history · rules         what OpenAI refuses
    view · model · frames · cache · upstream the scripted model, its endpoint and its cache
    loopback · proxy · routes · client       the servers, and the app that talks to them
    measure · conversation                   the comparison, and a conversation held in five ways
    report · caching · show · run            the tables, the command
"""
