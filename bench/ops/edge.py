"""The client's side of the wire: C1 to C14."""

import asyncio
import gzip
import re
from pathlib import Path
from typing import Any

import app
from bench.ops.check import check, expect
from bench.ops.rig import (
    JSON,
    MEGABYTE,
    OK,
    Raw,
    Replica,
    body,
    connected,
    exchange,
    head,
    health,
    package,
    reply,
    serving,
    statuses,
    upstream,
)
from tests.builders import dumps
from tests.smuggling import REFUSED, SECOND, TAKEN

REFUSALS = {400, 405, 408, 417, 431, 501, 505}


async def _wrongly_answered(replica: Replica, cases: dict[str, bytes]) -> list[str]:
    """The cases that are not refused with one reply, unheard of upstream."""
    wrong = []
    for name, sent in cases.items():
        before = len(replica.upstream.received)
        said = statuses(await exchange(replica.url, sent + SECOND))
        if len(said) != 1 or said[0] not in REFUSALS or len(replica.upstream.received) != before:
            wrong.append(f"{name} {said}")
    return wrong


@check("C1", "RFC 9112 strictness, a table of our own", "each refused, or taken, as the RFC says")
async def strictness() -> str:
    async with serving(OK) as replica:
        wrong = await _wrongly_answered(replica, REFUSED)
        for name, sent in TAKEN.items():
            said = statuses(await exchange(replica.url, sent))
            wrong += [] if said[-1:] == [200] else [f"{name} {said}"]
    total = len(REFUSED) + len(TAKEN)
    return expect(not wrong, f"{total - len(wrong)}/{total} {'; '.join(wrong)}".strip())


@check("C2", "smuggling: framing that two parsers read differently", "400 and closed, never two")
async def smuggling() -> str:
    cases = {n: c for n, c in REFUSED.items() if re.match(r"2\.2|5\.|6\.|7\.", n)}
    async with serving(OK) as replica:
        wrong = await _wrongly_answered(replica, cases)
        heard = len(replica.upstream.received)
    actual = f"{len(cases) - len(wrong)}/{len(cases)} refused, {heard} upstream {'; '.join(wrong)}"
    return expect(not wrong, actual)


@check("C3", "Host missing, twice, with a path or a fragment, both ports", "400; no request.url")
async def hosts() -> str:
    values = (b"", b"Host: a\r\nHost: b\r\n", b"Host: a/x?\r\n", b"Host: localhost/#@evil\r\n")
    paths = (b"/admin", b"/metrics", b"/v1/models", b"/readyz")
    async with serving(OK) as replica:
        said = [
            statuses(await exchange(url, b"GET " + path + b" HTTP/1.1\r\n" + value + b"\r\n"))
            for url in (replica.url, replica.admin)
            for path in paths
            for value in values
        ]
        heard = len(replica.upstream.received)
    sources = Path(app.__file__).parent.rglob("*.py")
    decided = sum("request.url" in source.read_text() for source in sources)
    wrong = [one for one in said if one != [400]]
    actual = (
        f"{len(said) - len(wrong)}/{len(said)} are 400, {heard} upstream, request.url {decided}"
    )
    return expect(not wrong and not heard and not decided, actual)


@check("C4", "101 headers; more than 32 KiB", "431 or 400, memory +<2 MB")
async def header_limits() -> str:
    many = b"".join(b"X-%d: 1\r\n" % number for number in range(100))
    large = b"X: " + b"x" * 33_000 + b"\r\n"
    async with serving(OK) as replica:
        await exchange(replica.url, b"GET /v1/x HTTP/1.1\r\nHost: a\r\n" + many + b"\r\n")
        before = replica.resident()
        said = {
            statuses(
                await exchange(replica.url, b"GET /v1/x HTTP/1.1\r\nHost: a\r\n" + sent + b"\r\n")
            )[0]
            for sent in (many, large) * 50
        }
        grown = (replica.resident() - before) / MEGABYTE
    return expect(said <= {400, 431} and grown < 2, f"{sorted(said)}, memory {grown:+.1f} MB")


@check("C5", "a body over the limit: with Expect, in chunks; one at it", "413, no 100; 200 at it")
async def body_limit() -> str:
    limit = 16 * MEGABYTE
    over = b"x" * (limit + 1)
    at = body(text="x" * (limit - len(body(text=""))))
    close = b"connection: close"
    async with serving(reply("x")) as replica:
        expecting = await exchange(
            replica.url, head(b"", b"content-length: %d" % len(over), b"expect: 100-continue")
        )
        sent = b"%x\r\n%b\r\n0\r\n\r\n" % (len(over), over)
        chunked = await exchange(replica.url, head(sent, b"transfer-encoding: chunked", close))
        heard = len(replica.upstream.received)
        exact = (await replica.post(at)).status_code
    said = statuses(expecting), statuses(chunked), exact
    shaped = b'"code":"request_too_large"' in expecting and b'"type"' in chunked
    return expect(
        said == ([413], [413], 200) and shaped and heard == 0, f"{said}, {heard} upstream"
    )


@check(
    "C6", "slow headers, slow body, idle connects", "all closed by their deadline", "slowhttptest"
)
async def slow_clients() -> str:
    program = package("slowhttptest", "slowhttptest")
    stop = asyncio.Event()
    async with serving(OK, header_timeout=3, body_timeout=5) as replica:
        asking = asyncio.create_task(health(replica, stop))
        said = []
        for kind in ("-H", "-B"):
            command = [program, kind, "-c", "200", "-r", "200", "-i", "1", "-l", "15", "-t", "POST"]
            process = await asyncio.create_subprocess_exec(
                *(*command, "-u", replica.url + "/chat/completions"),
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
            told, _ = await process.communicate()
            said.append("No open connections left" in re.sub(r"\x1b\[[0-9;]*m", "", told.decode()))
        async with connected(replica.url) as (reader, _), asyncio.timeout(10):
            idle = await reader.read() == b""
        stop.set()
        worst = await asking
    actual = f"headers {said[0]}, body {said[1]}, idle {idle}, health in {worst * 1000:.0f} ms"
    return expect(all(said) and idle and worst < 1, actual)


@check("C7", "headers of one connection, both ways", "none crosses, end-to-end ones do")
async def hop_by_hop() -> str:
    hop = {
        **{"Connection": "X-A, close", "X-A": "1", "TE": "trailers", "Keep-Alive": "timeout=5"},
        **{"Proxy-Authorization": "Basic x", "Trailer": "x", "Upgrade": "h2c"},
    }
    back = {**hop, "Alt-Svc": 'h3=":443"', "Proxy-Authenticate": "x", "X-Kept": "1"}
    async with serving(Raw(dumps(reply("x")), 200, JSON, back)) as replica:
        sent = b"\r\n".join(f"{n}: {v}".encode() for n, v in {**hop, "X-End": "1"}.items())
        said = await exchange(replica.url, head(body(), sent))
        received = {name.lower() for name, _ in replica.upstream.received[0].headers}
    came = {
        line.split(b":")[0].decode().lower() for line in said.split(b"\r\n\r\n")[0].split(b"\r\n")
    }
    barred = {name.lower() for name in back} - {"connection", "x-kept"}
    crossed = (received | came) & barred
    return expect(
        not crossed and "x-end" in received and "x-kept" in came, f"crossed: {sorted(crossed)}"
    )


@check("C8", "Connection names a protected header", "400, nothing upstream")
async def connection_names() -> str:
    async with serving(OK) as replica:
        named = b"Connection: authorization, x-toolfold-tenant"
        said = statuses(await exchange(replica.url, head(body(), named)))
        heard = len(replica.upstream.received)
    return expect(said == [400] and heard == 0, f"{said}, {heard} upstream")


@check("C9", "our headers and keys in any spelling", "none upstream, one Authorization")
async def own_headers() -> str:
    names = ("X-Toolfold-Mode", "x-toolfold-Key", "X-TOOLFOLD-Tenant", "x-toolfold-limit")
    async with serving(reply("x")) as replica:
        for name in names:
            await replica.post(body(), **{name: "auto"})
        under = b"x_toolfold_key: tf-secret"
        await exchange(replica.url, head(body(), under, b"Connection: close"))
        received = replica.upstream.received
    ours = [
        n for one in received for n, _ in one.headers if n.lower().startswith(("x-tool", "x_tool"))
    ]
    secret = sum("tf-secret" in value for one in received for _, value in one.headers)
    several = sum(len(one.header("authorization")) > 1 for one in received)
    actual = f"{len(ours)} of ours, {secret} keys, {several} with two Authorization"
    return expect(not ours and not secret and not several, actual)


@check("C10", "a reply that echoes credentials, forges ours, frames twice", "all removed")
async def reply_hygiene() -> str:
    content = dumps(reply("x"))
    wire = (
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nauthorization: Bearer key\r\n"
        b"x-goog-api-key: k\r\nx-api-key: k\r\nserver: a\r\nserver: b\r\nX-Toolfold-Forged: 1\r\n"
        b"content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n"
    ) % (len(content), content)
    wrong = []
    async with serving(Raw(wire=wire)) as replica:
        for path in ("/chat/completions", "/models"):
            response = await replica.post(body(), path)
            names = [name.decode().lower() for name, _ in response.headers.raw]
            once = ("server", "content-type", "content-length", "transfer-encoding")
            wrong += [n for n in once if names.count(n) > 1]
            echoed = ("authorization", "x-goog-api-key", "x-api-key", "x-toolfold-forged")
            wrong += [n for n in names if n in echoed]
            wrong += [] if response.json() == reply("x") else ["body"]
    return expect(not wrong, f"wrong: {wrong}")


@check("C11", "a cookie of one tenant's reply", "not sent for the next; its own client gets it")
async def cookies() -> str:
    said = Raw(dumps(reply("x")), 200, JSON, {"set-cookie": "sid=a; Path=/"})
    async with serving(said) as replica:
        first = await replica.post(body(), authorization="Bearer a")
        replica.client.cookies.clear()
        await replica.post(body(), authorization="Bearer b")
        sent = [one.header("cookie") for one in replica.upstream.received]
    return expect(sent == [[], []] and "set-cookie" in first.headers, f"sent: {sent}")


@check("C12", "a redirect to another server", "not followed: 0 requests there")
async def redirects() -> str:
    async with upstream(200) as other:
        moved = Raw(b"", 307, JSON, {"location": other.url + "/chat/completions"})
        async with serving(moved) as replica:
            status = (await replica.post(body())).status_code
        return expect(
            not other.received and status == 307, f"{status}, {len(other.received)} there"
        )


@check("C13", "a client that names another upstream", "none reached; unknown paths 404")
async def chosen_upstream() -> str:
    async with upstream(reply("x")) as evil, serving(reply("x")) as replica:
        at = evil.url.removesuffix("/v1").removeprefix("http://").encode()
        named: dict[str, Any] = {key: evil.url for key in ("api_base", "base_url", "custom_host")}
        headers = ("x-portkey-custom-host", "Helicone-Target-URL")
        await replica.post(body(**named), **dict.fromkeys(headers, evil.url))
        unknown = await replica.post(body(), **{"x-toolfold-upstream": evil.url})
        targets = [
            *(b"http://" + at + b"/v1/models", b"//" + at + b"/v1/models", b"/v2/models"),
            *(b"/v1/%2e%2e/x", b"/v1/..%2fx", b"/v1/..%5cx", b"/%23/v1", b"/v1#@" + at),
        ]
        said = [
            statuses(
                await exchange(
                    replica.url, b"GET " + t + b" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
                )
            )
            for t in targets
        ]
        heard = len(replica.upstream.received)
        wrong = [one for one in said if one not in ([404], [400])]
        actual = (
            f"{len(evil.received)} at evil, {heard} upstream, statuses {sorted(map(str, said))}"
        )
        right = not evil.received and not wrong and heard == 1
        return expect(right and unknown.status_code == 400, actual)


@check("C14", "200 KB of gzip that say 200 MB", "502, memory +<32 MB")
async def bomb() -> str:
    packed = gzip.compress(b"[" + b" " * 200 * MEGABYTE + b"]", 9)
    wrong = []
    bombs = Raw(packed, 200, JSON, {"content-encoding": "gzip"})
    async with serving(reply("x"), bombs) as replica:
        await replica.post(body())
        before = replica.resident()
        for stream in (False, True):
            status = (await replica.post(body(stream=stream))).status_code
            wrong += [] if status == 502 else [status]
        grown = (replica.resident() - before) / MEGABYTE
    return expect(not wrong and grown < 32, f"{wrong or 502}, memory {grown:+.0f} MB")
