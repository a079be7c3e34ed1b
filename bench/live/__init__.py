"""`make live`: what folding is worth with a real model, measured against any endpoint.

Tasks whose answers can only come from running a tool, over a small and a large catalog, each with
all tools declared (eager) and through Toolfold (folded), several times. The files form a ladder:

    endpoint   where the model is, out of the environment
    meter      a relay on the way that counts what the model is billed for
    agent      an app's loop over the real SDK, and whether its answer is right
    trial      every task, size and route, as rows
    report     the table
    model      a small model and a real server, out of packages
    local      `make live-local`: the protocol, with that model on this machine
"""
