"""Who is asking, on real sockets: trust, keys, tenants, and what of it reaches the upstream."""

from typing import Any

import pytest
import structlog

from app.core.policy import Policy
from app.identity import Identity, is_loopback
from app.policies import Policies, Tenant
from tests.builders import body, reply
from tests.conftest import Proxy, start_proxy
from tests.upstream import Raw

JSON = "application/json"
PATHS = pytest.mark.parametrize("path", ["/models", "/chat/completions"], ids=["relay", "fold"])


async def send(proxy: Proxy, *headers: tuple[str, str], path: str = "/chat/completions") -> Any:
    sent = [("content-type", JSON), *headers]
    return await proxy.client.post(proxy.url + path, content=body(), headers=sent)


def ours(proxy: Proxy, at: int = 0) -> list[str]:
    names = (name.lower().replace("_", "-") for name, _ in proxy.upstream.received[at].headers)
    return [name for name in names if name.startswith("x-toolfold")]


def error(response: Any) -> Any:
    return response.json()["error"]


# -- headers ------------------------------------------------------------------


async def test_a_trusted_peer_narrows_the_policy() -> None:
    async with start_proxy(reply("ok")) as proxy:
        response = await send(proxy, ("X-Toolfold-Hidden", "stripe__*, family:crm"))

    assert response.headers["x-toolfold-decision"] == "folded"
    sent = proxy.upstream.received[0].body
    assert b"get_weather" in sent
    assert b"stripe__" not in sent
    assert b"crm__" not in sent
    assert ours(proxy) == []


async def test_one_requests_headers_do_not_stick_to_the_next() -> None:
    async with start_proxy(reply("ok")) as proxy:
        await send(proxy, ("X-Toolfold-Mode", "off"))
        response = await send(proxy)

    assert response.headers["x-toolfold-decision"] == "folded"
    assert proxy.upstream.received[0].body == body()


SPELLINGS = ["X-Toolfold-Mode", "x-toolfold-mode", "X-TOOLFOLD-MODE"]


@pytest.mark.parametrize("name", SPELLINGS)
async def test_case_is_no_matter(name: str) -> None:
    async with start_proxy(reply("ok")) as proxy:
        response = await send(proxy, (name, "off"))

    assert response.headers["x-toolfold-reason"] == "mode-off"
    assert ours(proxy) == []


@PATHS
@pytest.mark.parametrize("name", ["X_Toolfold_Mode", "x-toolfold_mode", "X_TOOLFOLD-MODE"])
async def test_C9_names_with_underscores_are_refused(path: str, name: str) -> None:
    async with start_proxy(reply("ok")) as proxy:
        response = await send(proxy, (name, "off"), path=path)

    assert response.status_code == 400
    assert "`X-Toolfold-Mode`" in error(response)["message"]
    assert proxy.upstream.received == []


REFUSED: dict[str, tuple[str, str, int]] = {
    "a word that there is not": ("X-Toolfold-Mode", "sometimes", 400),
    "no number": ("X-Toolfold-Limit", "many", 400),
    "a header that there is not": ("X-Toolfold-Hiden", "a", 400),
    "a mode that does more": ("X-Toolfold-Mode", "on", 403),
    "a larger budget": ("X-Toolfold-Manifest-Tokens", "4001", 403),
    "more searches": ("X-Toolfold-Max-Searches", "6", 403),
    "a tenant that there is not": ("X-Toolfold-Tenant", "acme", 403),
    "no tenant's name": ("X-Toolfold-Tenant", "Ac me", 400),
}


@PATHS
@pytest.mark.parametrize(("name", "value", "status"), REFUSED.values(), ids=REFUSED)
async def test_C46_a_header_that_is_wrong_or_asks_for_more_is_named(
    path: str, name: str, value: str, status: int
) -> None:
    async with start_proxy(reply("ok"), mode="auto") as proxy:
        response = await send(proxy, (name, value), path=path)

    assert response.status_code == status
    assert error(response)["type"] == "invalid_request_error"
    assert error(response)["param"].lower() == name.lower()
    assert name.lower() in error(response)["message"].lower()
    assert response.headers["x-toolfold-decision"] == "refused"
    assert proxy.upstream.received == []


FORWARDED = [
    ("X-Forwarded-For", "127.0.0.1"),
    ("Forwarded", "for=127.0.0.1"),
    ("X-Real-Ip", "127.0.0.1"),
]


@PATHS
@pytest.mark.parametrize("forged", FORWARDED, ids=[name for name, _ in FORWARDED])
async def test_C45_headers_of_who_is_not_trusted_are_ignored_counted_and_not_sent_on(
    path: str, forged: tuple[str, str]
) -> None:
    given = [("X-Toolfold-Mode", "off"), ("x_toolfold_hidden", "*"), ("X-Toolfold-Tenant", "a")]
    with structlog.testing.capture_logs() as logs:
        async with start_proxy(reply("ok"), trusted_peers="10.0.0.0/8") as proxy:
            response = await send(proxy, *given, forged, path=path)

    assert response.status_code == 200
    assert b"get_weather" in proxy.upstream.received[0].body
    assert ours(proxy) == []
    (line,) = [one for one in logs if one["event"] == "request"]
    assert line["ignored_headers"] == 3
    assert response.headers["x-toolfold-reason"] != "mode-off"


async def test_C45_when_strict_they_are_refused() -> None:
    async with start_proxy(reply("ok"), trusted_peers="", strict_headers=True) as proxy:
        response = await send(proxy, ("X-Toolfold-Mode", "off"), ("X-Forwarded-For", "127.0.0.1"))
        without = await send(proxy)

    assert (response.status_code, without.status_code) == (403, 200)
    assert error(response)["param"] == "x-toolfold-mode"
    assert len(proxy.upstream.received) == 1


CONNECTION = ["authorization", "X-Toolfold-Tenant", "x_toolfold_mode", "close, api-key", "Host"]


@PATHS
@pytest.mark.parametrize("named", CONNECTION)
async def test_C8_connection_must_not_name_what_belongs_to_the_request(
    path: str, named: str
) -> None:
    async with start_proxy(reply("ok")) as proxy:
        response = await send(proxy, ("Connection", named), path=path)

    assert response.status_code == 400
    assert error(response)["param"] == "connection"
    assert proxy.upstream.received == []


# -- the upstream is not the client's to choose -----------------------------------------


CHOSEN = [
    ("x-portkey-custom-host", "{}"),
    ("Helicone-Target-URL", "{}"),
    ("Host", "evil.example"),
    ("X-Forwarded-Host", "evil.example"),
]


@pytest.mark.parametrize(("name", "value"), CHOSEN, ids=[name for name, _ in CHOSEN])
async def test_C13_no_header_and_no_member_chooses_the_upstream(name: str, value: str) -> None:
    async with start_proxy(Raw(b"{}", 200, JSON)) as evil, start_proxy(reply("ok")) as proxy:
        elsewhere = evil.upstream.url
        members: Any = {"api_base": elsewhere, "base_url": elsewhere, "custom_host": elsewhere}
        response = await proxy.client.post(
            proxy.url + "/chat/completions",
            content=body(**members),
            headers=[("content-type", JSON), (name, value.format(evil.upstream.url))],
        )

    assert response.status_code == 200
    assert evil.upstream.received == []
    assert len(proxy.upstream.received) == 1


async def test_C13_a_header_of_ours_that_would_is_refused() -> None:
    async with start_proxy(reply("ok")) as proxy:
        response = await send(proxy, ("X-Toolfold-Upstream", "http://127.0.0.1:1/v1"))

    assert response.status_code == 400
    assert proxy.upstream.received == []


# -- who is trusted -----------------------------------------------------------------------

PEERS: dict[str, tuple[Any, bool]] = {
    "loopback": (("127.0.0.1", 1), True),
    "all of loopback": (("127.9.9.9", 1), True),
    "loopback of IPv6": (("::1", 1), True),
    "loopback inside IPv6": (("::ffff:127.0.0.1", 1), True),
    "an address": (("10.1.2.3", 1), False),
    "a link's own": (("fe80::1%eth0", 1), False),
    "no address": (("/run/socket", 0), False),
    "nothing": (None, False),
}


@pytest.mark.parametrize(("peer", "trusted"), PEERS.values(), ids=PEERS)
def test_who_is_trusted_by_default(peer: Any, trusted: bool) -> None:
    anybody = Tenant(Policy(), {})
    identity = Identity(Policies(anybody), ("127.0.0.0/8", "::1/128"), strict=False)
    scope: Any = {"client": peer, "headers": [(b"x-toolfold-mode", b"off")]}
    asker = identity.of(scope)
    assert asker.policy.mode == ("off" if trusted else "auto")
    assert asker.ignored == (not trusted)


def test_without_headers_of_ours_the_policy_is_the_very_same_value() -> None:
    anybody = Tenant(Policy(), {})
    identity = Identity(Policies(anybody), ("127.0.0.0/8",), strict=False)
    plain: Any = {"client": ("127.0.0.1", 1), "headers": [(b"x-request-id", b"1")]}
    assert identity.of(plain).policy is anybody.policy
    given: Any = {"client": ("127.0.0.1", 1), "headers": [(b"x-toolfold-limit", b"1")]}
    assert identity.of(given).policy is identity.of(given).policy


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_loopback(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "10.0.0.1", "example.com"])
def test_not_loopback(host: str) -> None:
    assert not is_loopback(host)
