"""`python -m bench.ops`: what operators rely on, checked on a running `toolfold serve`.

    check      what a check is: an id, what is looked at, the right outcome
    rig        what checks share: bytes on sockets, packages, bodies
    edge bodies streams failure lifecycle state trust telemetry text     the checks

To add one, write an async function in the file of its group, decorate it with its id, what it
looks at and the right outcome, and return the actual one; raise `Wrong` where they differ.
"""
