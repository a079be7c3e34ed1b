"""Keys and tenants on real sockets: who is served, and whose key goes upstream."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import structlog
from openai import AsyncOpenAI, AuthenticationError, PermissionDeniedError

from tests.builders import reply
from tests.conftest import start_proxy
from tests.test_identity import PATHS, error, ours, send


def hashed(key: str) -> str:
    return sha256(key.encode()).hexdigest()


FILE = f"""
version: 1
policies:
  careful: {{mode: on, hidden: ["stripe__*"], limit: 3}}
tenants:
  acme: {{policy: careful, keys_sha256: [{hashed("sk-acme")}]}}
  other: {{keys_sha256: [{hashed("sk-other")}]}}
  named: {{policy: careful}}
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "policy.yaml"
    path.write_text(FILE)
    return str(path)


PLACES = [
    ("Authorization", "Bearer {}"),
    ("authorization", "bearer {}"),
    ("api-key", "{}"),
    ("x-api-key", "{}"),
    ("x-goog-api-key", "{}"),
    ("X-Toolfold-Key", "{}"),
]


@pytest.mark.parametrize(("name", "form"), PLACES, ids=[name for name, _ in PLACES])
async def test_a_key_says_whose_policy_applies(file: str, name: str, form: str) -> None:
    with structlog.testing.capture_logs() as logs:
        async with start_proxy(reply("ok"), policy_file=file) as proxy:
            careful = await send(proxy, (name, form.format("sk-acme")))
            other = await send(proxy, (name, form.format("sk-other")))

    assert (careful.status_code, other.status_code) == (200, 200)
    first, second = (received.body for received in proxy.upstream.received)
    assert b"stripe__" not in first
    assert b"stripe__" in second
    lines = [one for one in logs if one["event"] == "request"]
    assert [(one["tenant"], one["policy"]) for one in lines] == [("acme", "careful"), ("other", "")]


WRONG: dict[str, list[tuple[str, str]]] = {
    "none": [],
    "empty": [("Authorization", "")],
    "an empty bearer": [("Authorization", "Bearer")],
    "another scheme": [("Authorization", "Basic sk-acme")],
    "made up": [("Authorization", "Bearer sk-acm")],
    "a key and more": [("Authorization", "Bearer sk-acme x")],
    "the hash": [("Authorization", f"Bearer {hashed('sk-acme')}")],
    "SQL": [("Authorization", "Bearer ' OR '1'='1")],
    "long": [("Authorization", "Bearer " + "A" * 20_000)],
    "two headers": [("Authorization", "Bearer sk-acme"), ("Authorization", "Bearer sk-acme")],
    "two keys": [("Authorization", "Bearer sk-acme"), ("api-key", "sk-other")],
    "a good one and a wrong one of ours": [
        ("Authorization", "Bearer sk-acme"),
        ("X-Toolfold-Key", "x"),
    ],
    "two of ours": [("X-Toolfold-Key", "sk-acme"), ("X-Toolfold-Key", "sk-other")],
    "elsewhere": [("X-Key", "sk-acme")],
    "a tenant's name and a wrong key of ours": [
        ("X-Toolfold-Tenant", "named"),
        ("X-Toolfold-Key", "x"),
    ],
}


@PATHS
@pytest.mark.parametrize("headers", WRONG.values(), ids=WRONG)
async def test_C47_without_a_good_key_nobody_is_served(
    file: str, path: str, headers: list[tuple[str, str]]
) -> None:
    async with start_proxy(reply("ok"), policy_file=file) as proxy:
        response = await send(proxy, *headers, path=path)

    assert response.status_code == 401
    assert error(response).keys() == {"message", "type", "param", "code"}
    assert error(response)["code"] == "invalid_api_key"
    assert "sk-" not in response.text
    assert response.headers["www-authenticate"] == "Bearer"
    assert proxy.upstream.received == []


async def test_two_authorizations_are_refused_where_there_are_no_tenants_too() -> None:
    async with start_proxy(reply("ok")) as proxy:
        response = await send(proxy, ("Authorization", "Bearer a"), ("Authorization", "Bearer b"))

    assert response.status_code == 401
    assert proxy.upstream.received == []


async def test_a_trusted_peer_names_a_tenant_and_its_own_key_goes_through(file: str) -> None:
    async with start_proxy(reply("ok"), policy_file=file) as proxy:
        response = await send(
            proxy, ("X-Toolfold-Tenant", "named"), ("Authorization", "Bearer provider")
        )

    assert response.status_code == 200
    received = proxy.upstream.received[0]
    assert b"stripe__" not in received.body
    assert received.header("authorization") == ["Bearer provider"]
    assert ours(proxy) == []


async def test_who_is_not_trusted_cannot_name_a_tenant(file: str) -> None:
    async with start_proxy(reply("ok"), policy_file=file, trusted_peers="") as proxy:
        response = await send(proxy, ("X-Toolfold-Tenant", "named"))
        with_key = await send(
            proxy, ("X-Toolfold-Tenant", "named"), ("Authorization", "Bearer sk-other")
        )

    assert (response.status_code, with_key.status_code) == (401, 200)
    assert b"stripe__" in proxy.upstream.received[0].body


async def test_C46_a_key_and_another_tenants_name_are_refused(file: str) -> None:
    key = ("Authorization", "Bearer sk-acme")
    async with start_proxy(reply("ok"), policy_file=file) as proxy:
        other = await send(proxy, key, ("X-Toolfold-Tenant", "other"))
        own = await send(proxy, key, ("X-Toolfold-Tenant", "acme"))

    assert (other.status_code, own.status_code) == (403, 200)
    assert error(other)["param"] == "x-toolfold-tenant"


async def test_the_sdk_raises_what_it_raises_for_a_wrong_key(file: str) -> None:
    async with start_proxy(reply("ok"), policy_file=file, mode="auto") as proxy:
        asked: Any = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
        async with AsyncOpenAI(base_url=proxy.url, api_key="wrong", max_retries=0) as client:
            with pytest.raises(AuthenticationError):
                await client.chat.completions.create(**asked)
        more = {"X-Toolfold-Limit": "9"}
        async with AsyncOpenAI(base_url=proxy.url, api_key="sk-acme", max_retries=0) as client:
            with pytest.raises(PermissionDeniedError):
                await client.chat.completions.create(**asked, extra_headers=more)


# -- the operator's key ---------------------------------------------------------------


CLIENTS = [
    ("Authorization", "Bearer sk-acme"),
    ("api-key", "sk-acme"),
    ("x-api-key", "sk-acme"),
    ("x-goog-api-key", "sk-acme"),
    ("X-Toolfold-Key", "sk-acme"),
    ("Cookie", "session=sk-acme"),
    ("X-Auth-Token", "sk-acme"),
    ("Ocp-Apim-Subscription-Key", "sk-acme"),
]


@PATHS
async def test_C9_with_the_operators_key_no_credential_of_the_client_is_sent_on(
    file: str, path: str
) -> None:
    account = [("OpenAI-Organization", "theirs"), ("OpenAI-Project", "theirs")]
    async with start_proxy(reply("ok"), policy_file=file, upstream_key="sk-operator") as proxy:
        response = await send(
            proxy, *CLIENTS, *account, ("Idempotency-Key", "7"), path=f"{path}?key=sk-acme&a=b"
        )

    assert response.status_code == 200
    received = proxy.upstream.received[0]
    assert received.header("authorization") == ["Bearer sk-operator"]
    assert received.header("idempotency-key") == ["7"]
    assert received.target == f"/v1{path}?a=b"
    sent = json.dumps(received.headers)
    assert "sk-acme" not in sent
    assert "theirs" not in sent


@PATHS
@pytest.mark.parametrize("name", ["X_Api_Key", "api_key", "x_goog_api_key"])
async def test_C9_a_credential_under_a_name_with_underscores_is_refused(
    file: str, path: str, name: str
) -> None:
    async with start_proxy(reply("ok"), policy_file=file) as proxy:
        response = await send(proxy, ("Authorization", "Bearer sk-acme"), (name, "x"), path=path)

    assert response.status_code == 400
    assert proxy.upstream.received == []


async def test_the_operators_key_may_stand_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text("sk-operator\n")
    async with start_proxy(reply("ok"), upstream_key_file=str(path)) as proxy:
        await send(proxy, ("Authorization", "Bearer theirs"))

    assert proxy.upstream.received[0].header("authorization") == ["Bearer sk-operator"]


async def test_by_default_the_clients_key_goes_through(file: str) -> None:
    async with start_proxy(reply("ok"), policy_file=file) as proxy:
        await send(proxy, ("Authorization", "Bearer sk-acme"))

    assert proxy.upstream.received[0].header("authorization") == ["Bearer sk-acme"]
