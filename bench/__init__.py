"""What Toolfold costs, side by side with no proxy and with other proxies, in one run.

Machines are busy and noisy, so nothing here is an absolute promise: every row is measured in
small batches, round robin with all the others, and read as a ratio to `direct`. Run it with
`make bench` or `python -m bench --help`. Loopback only; bounded in count and in time.

    message    one HTTP/1.1 message, framed and no more
    request    the 300-tool request, of a known catalog or of one never seen before
    upstream   a fast upstream, in a process of its own
    minimal    the least that a relay in Python can do: the yardstick
    process    a process that is started, waited for, weighed and always stopped
    target     what is measured: one row each
    load       keep-alive connections that send as fast as replies come
    row        its numbers, and what two rows say of each other
    trial      the rounds: every target in turn, again and again
    goal       what was promised, and whether this run kept it
    report     the tables

Beside it, and measured by itself:

    retrieval  does a search find the tool? `python -m bench.retrieval DIR`
    minilm     an embedding model in numpy
    thesaurus  what the default ranker keeps of it: `python -m bench.thesaurus DIR`
"""
