"""Which headers cross, in both directions, for relayed and for folded requests."""

import pytest

from tests.builders import body, dumps, reply, search
from tests.conftest import Proxy, start_proxy
from tests.upstream import Raw

JSON = "application/json"
PATHS = pytest.mark.parametrize("path", ["/models", "/chat/completions"], ids=["relay", "fold"])


def said(**headers: str) -> Raw:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Raw(dumps(reply("x")), 200, JSON, named)


async def post(proxy: Proxy, path: str, *headers: tuple[str, str]) -> dict[str, str]:
    """Send a body with these headers; what came back with it."""
    sent = [("content-type", JSON), *headers]
    response = await proxy.client.post(proxy.url + path, content=body(), headers=sent)
    assert response.status_code == 200
    return dict(response.headers)


@PATHS
async def test_the_connections_own_headers_stay_with_it(path: str) -> None:
    hop = {
        "te": "trailers",
        "trailer": "x",
        "keep-alive": "timeout=5",
        "proxy-authorization": "Basic x",
        "proxy-connection": "keep-alive",
        "x-hop": "1",
        "connection": "keep-alive, x-hop , X-Other",
        "x-other": "2",
        "upgrade": "h2c",
    }
    async with start_proxy(said()) as proxy:
        await post(proxy, path, *hop.items())

    crossed = {name.lower() for name, _ in proxy.upstream.received[0].headers}
    assert crossed & (hop.keys() - {"connection"}) == set()
    assert "x-hop" not in "".join(proxy.upstream.received[0].header("connection"))


@PATHS
async def test_the_upstream_connections_own_headers_stay_there(path: str) -> None:
    hop = said(
        keep_alive="timeout=5",
        proxy_authenticate="Basic",
        trailer="x",
        upgrade="h2c",
        connection="x-hop",
        x_hop="1",
    )
    async with start_proxy(hop) as proxy:
        came = await post(proxy, path)

    assert came.keys().isdisjoint(hop.headers.keys() - {"connection"})
    assert "x-hop" not in came.get("connection", "")


OURS = [
    *("X-Toolfold-Mode", "x-toolfold-hidden", "X_Toolfold_Mode", "x-toolfold_limit"),
    *("X_TOOLFOLD-Tenant", "x-toolfold-decision", "X-ToolFold-"),
]


@PATHS
@pytest.mark.parametrize("name", OURS)
async def test_our_headers_never_reach_the_upstream(path: str, name: str) -> None:
    async with start_proxy(said(), trusted_peers="") as proxy:
        await post(proxy, path, (name, "off"))

    crossed = [n.lower().replace("_", "-") for n, _ in proxy.upstream.received[0].headers]
    assert not [one for one in crossed if one.startswith("x-toolfold")]


@PATHS
async def test_our_headers_are_not_the_upstreams_to_say(path: str) -> None:
    forged = Raw(
        dumps(reply("x")),
        200,
        JSON,
        {"X-Toolfold-Decision": "forged", "x_toolfold_tokens": "1/1", "X-Toolfold-New": "1"},
    )
    async with start_proxy(forged) as proxy:
        response = await proxy.post(body(), path)

    assert "forged" not in response.headers.get_list("x-toolfold-decision")
    assert len(response.headers.get_list("x-toolfold-decision")) == 1
    assert "x-toolfold-new" not in response.headers
    assert "x_toolfold_tokens" not in response.headers


@PATHS
async def test_cookies_are_one_clients_alone(path: str) -> None:
    async with start_proxy(said(set_cookie="sid=a; Path=/")) as proxy:
        first = await proxy.post(body(), path)
        proxy.client.cookies.clear()
        await proxy.post(body(), path)

    assert first.headers["set-cookie"] == "sid=a; Path=/"
    assert [received.header("cookie") for received in proxy.upstream.received] == [[], []]


async def test_cookies_of_a_hidden_round_are_not_sent_in_the_next() -> None:
    searching = Raw(dumps(reply(search("s1", "x"))), 200, JSON, {"set-cookie": "sid=a"})
    async with start_proxy(searching, reply("Done.")) as proxy:
        await proxy.post(body())

    assert [received.header("cookie") for received in proxy.upstream.received] == [[], []]


@PATHS
async def test_headers_that_we_do_not_know_survive_both_ways(path: str) -> None:
    known = {
        "authorization": "Bearer key",
        "openai-organization": "org",
        "idempotency-key": "7",
        "x-stainless-lang": "python",
        "cookie": "own=1",
        "user-agent": "app/1",
        "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    }
    back = {"x-request-id": "req-1", "retry-after": "9", "x-ratelimit-remaining-tokens": "5"}
    async with start_proxy(Raw(dumps(reply("x")), 200, JSON, back)) as proxy:
        came = await post(proxy, path, *known.items())

    received = proxy.upstream.received[0]
    assert {name: received.header(name) for name in known} == {
        name: [value] for name, value in known.items()
    }
    assert came.items() >= back.items()


@PATHS
async def test_repeated_headers_stay_apart(path: str) -> None:
    async with start_proxy(said()) as proxy:
        await post(proxy, path, ("x-many", "1"), ("x-many", "2"))

    assert proxy.upstream.received[0].header("x-many") == ["1", "2"]


@PATHS
async def test_the_host_is_the_upstreams(path: str) -> None:
    async with start_proxy(said()) as proxy:
        await post(proxy, path, ("host", "client.example"))

    host = proxy.upstream.url.removeprefix("http://").removesuffix("/v1")
    assert proxy.upstream.received[0].header("host") == [host]


@PATHS
async def test_there_is_one_of_each_framing_header(path: str) -> None:
    async with start_proxy(said(server="a", date="Mon, 01 Jan 2024 00:00:00 GMT")) as proxy:
        response = await proxy.post(body(), path)

    names = [name.lower() for name, _ in response.headers.raw]
    for name in (b"content-type", b"content-length", b"server", b"date"):
        assert names.count(name) == 1


async def test_a_streams_headers_forbid_buffering() -> None:
    async with start_proxy(reply("x")) as proxy:
        response = await proxy.post(body(stream=True))

    assert response.headers["cache-control"] == "no-cache"
    assert response.headers["x-accel-buffering"] == "no"
    assert response.headers["x-vendor"] == "kept"


async def test_the_last_rounds_headers_are_the_replys() -> None:
    searching = Raw(dumps(reply(search("s1", "x"))), 200, JSON, {"x-request-id": "one"})
    done = Raw(dumps(reply("Done.")), 200, JSON, {"x-request-id": "two"})
    async with start_proxy(searching, done) as proxy:
        response = await proxy.post(body())

    assert response.headers["x-request-id"] == "two"
    assert response.headers["x-toolfold-searches"] == "1"
