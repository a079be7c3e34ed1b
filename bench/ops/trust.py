"""Who may say what: C45 to C49."""

import asyncio
import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.ops.check import check, expect
from bench.ops.rig import Replica, body, exchange, head, needs_setting, reply, serving, statuses
from bench.process import free_port
from tests.test_doctor import toolfold

_KEY = "tf-" + "k" * 40
_POLICIES = """version: 1
policies:
  standard: {{mode: "on", max_searches: 2}}
  closed: {{mode: "off"}}
defaults: {{policy: standard}}
tenants:
  acme: {{keys_sha256: ["{digest}"], policy: standard}}
  other: {{keys_sha256: ["{other}"], policy: closed}}
"""


@contextmanager
def _policies() -> Iterator[str]:
    needs_setting("policy_file", "policy file")
    digest = hashlib.sha256(_KEY.encode()).hexdigest()
    other = hashlib.sha256(b"tf-other").hexdigest()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policies.yaml"
        path.write_text(_POLICIES.format(digest=digest, other=other))
        yield str(path)


async def _decision(replica: Replica, **headers: str) -> str:
    response = await replica.post(body(), **headers)
    return f"{response.status_code} {response.headers.get('x-toolfold-decision', '-')}"


@check("C45", "policy headers of a peer that is not trusted, also by X-Forwarded-For", "no effect")
async def untrusted() -> str:
    needs_setting("trusted_peers", "trusted peers")
    forged = {"X-Toolfold-Mode": "off", "X-Forwarded-For": "127.0.0.1"}
    async with serving(reply("x"), trusted_peers="10.0.0.0/8") as replica:
        ignored = await _decision(replica, **forged)
    async with serving(reply("x"), trusted_peers="10.0.0.0/8", strict_headers=True) as replica:
        strict = await _decision(replica, **forged)
    async with serving(reply("x")) as replica:
        trusted = await _decision(replica, **forged)
    actual = f"ignored: {ignored}; strict: {strict}; from a trusted peer: {trusted}"
    return expect(ignored == "200 folded" and "403" in strict and "relayed" in trusted, actual)


@check("C46", "headers that ask for more: a budget, a tenant, a mode", "403, or what policy says")
async def narrowing() -> str:
    with _policies() as path:
        async with serving(reply("x"), policy_file=path) as replica:
            key = {"authorization": f"Bearer {_KEY}"}
            said = [
                await _decision(replica, **key, **{"X-Toolfold-Max-Searches": "20"}),
                await _decision(replica, **key, **{"X-Toolfold-Tenant": "other"}),
                await _decision(
                    replica, authorization="Bearer tf-other", **{"X-Toolfold-Mode": "on"}
                ),
            ]
    fine = all(one.startswith("403") for one in said[:2]) and "folded" not in said[2]
    return expect(fine, f"budget {said[0]}; tenant {said[1]}; mode {said[2]}")


@check("C47", "keys made up, empty, 1 MB, with quotes, two Authorization", "401, nothing upstream")
async def credentials() -> str:
    with _policies() as path:
        async with serving(reply("x"), policy_file=path) as replica:
            keys = ("made-up", "", "' OR 1=1 --", "x" * 20_000, _KEY[:-1], _KEY + "x")
            said = [
                (await replica.post(body(), authorization=f"Bearer {k}".strip())).status_code
                for k in keys
            ]
            twice = [b"authorization: Bearer " + _KEY.encode(), b"authorization: Bearer x"]
            sent = head(body(), *twice, b"connection: close")
            said += statuses(await exchange(replica.url, sent))
            heard = len(replica.upstream.received)
            right = (await replica.post(body(), authorization=f"Bearer {_KEY}")).status_code
    fine = {*said} <= {400, 401} and said[:6] == [401] * 6 and heard == 0 and right == 200
    return expect(fine, f"{said}, {heard} upstream, the right one {right}")


@check("C48", "0.0.0.0 with nobody's key asked for", "refused unless --insecure; default loopback")
async def safe_bind() -> str:
    needs_setting("insecure", "check of the address")
    async with asyncio.timeout(60):
        code, _, told = await toolfold("serve", "--host=0.0.0.0", "--port=0", "--admin-port=0")
    async with serving(reply("x"), host="0.0.0.0", insecure=True) as replica:
        open_ = (await replica.post(body())).status_code
    return expect(
        code == 2 and "insecure" in told and open_ == 200, f"exit {code}, with it {open_}"
    )


@check("C49", "admin, metrics and page asked of the data port", "404; pages hold no secret, inert")
async def separate() -> str:
    paths = ("/metrics", "/ui", "/debug", "/healthz", "/readyz", "/stats.json", "/docs")
    hostile = body(text="canary-prompt", user="canary-user")
    async with serving(reply("x"), port=free_port()) as replica:
        await replica.post(hostile, authorization="Bearer canary-key")
        root = replica.url.removesuffix("/v1")
        said = [(await replica.client.get(root + path)).status_code for path in paths]
        shown, policies = [], []
        for path in ("/", "/ui", "/metrics", "/stats.json"):
            page = await replica.client.get(replica.admin + path)
            shown.append("canary" in page.text)
            if "text/html" in page.headers.get("content-type", ""):
                policies.append("default-src 'none'" in page.headers["content-security-policy"])
    actual = f"{sorted({*said})}, canaries on {sum(shown)} pages, {len(policies)} pages of HTML"
    return expect({*said} == {404} and not any(shown) and all(policies), actual)
