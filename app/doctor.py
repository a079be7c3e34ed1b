"""Questions from outside: is it alive, and would it work with these settings?"""

import asyncio
from collections.abc import AsyncIterator
from http.client import HTTPConnection, HTTPException
from typing import Literal, NamedTuple

from app.core.codec import encode
from app.core.errors import Broken
from app.http import Headers
from app.main import create_upstream
from app.policies.document import Invalid
from app.settings import Settings
from app.stores import StoreFailed
from app.tenants import Unsafe, check_open, resolve
from app.tokens import ENCODING, load_counter
from app.upstream import Upstream

_PROBE_SECONDS = 2.0
_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""Addresses that are listened on and cannot be connected to."""
_KEY = "doctor"

Result = Literal["ok", "warn", "fail"]


class Finding(NamedTuple):
    """What was looked at, and how it is."""

    check: str
    result: Result
    detail: str


class Trial(NamedTuple):
    """What a call of the upstream takes."""

    key: str
    model: str
    """Whose one token is paid for; none is asked for where this is empty."""


def alive(settings: Settings, path: str) -> bool:
    """Whether the admin port of a running Toolfold says 200."""
    host = _ANYWHERE.get(settings.admin_host, settings.admin_host)
    connection = HTTPConnection(host, settings.admin_port, timeout=_PROBE_SECONDS)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


async def examine(settings: Settings, trial: Trial) -> AsyncIterator[Finding]:
    """Everything that a request needs, one after the other. No prompt and no key is told."""
    yield Finding("settings", "ok", f"mode {settings.mode}, strategy {settings.strategy}")
    yield _policies(settings)
    yield _vocabulary()
    upstream = create_upstream(settings)
    headers = [(b"authorization", b"Bearer " + trial.key.encode())] if trial.key else []
    try:
        yield await _reached(upstream, headers)
        if trial.model:
            yield await _called(upstream, headers, trial.model)
    finally:
        await upstream.aclose()
    yield await _store(settings)


def _policies(settings: Settings) -> Finding:
    """Whether the policy file can be read, and whether somebody is asked for a key."""
    try:
        check_open(settings)
        resolve(settings)
    except Unsafe as unsafe:
        return Finding("policies", "fail", str(unsafe))
    except Invalid as invalid:
        problems = (problem.text(settings.policy_file) for problem in invalid.problems)
        return Finding("policies", "fail", "; ".join(problems))
    return Finding("policies", "ok", settings.policy_file or "no policy file")


def _vocabulary() -> Finding:
    try:
        load_counter()
    except (RuntimeError, OSError) as error:
        return Finding("vocabulary", "fail", str(error))
    return Finding("vocabulary", "ok", ENCODING)


async def _reached(upstream: Upstream, headers: Headers) -> Finding:
    try:
        status = await _status(upstream, "GET", b"/models", headers, b"")
    except Broken as broken:
        return Finding("upstream", "fail", f"{broken.code}: {broken.message}")
    if status >= 500 or status == 404:
        hint = "the base URL may be wrong" if status == 404 else "it is ill"
        return Finding("upstream", "warn", f"answers /models with {status}: {hint}")
    return Finding("upstream", "ok", f"answers /models with {status}")


async def _called(upstream: Upstream, headers: Headers, model: str) -> Finding:
    messages = [{"role": "user", "content": "Hi"}]
    content = encode({"model": model, "messages": messages, "max_tokens": 1})
    headers = [*headers, (b"content-type", b"application/json")]
    try:
        status = await _status(upstream, "POST", b"/chat/completions", headers, content)
    except Broken as broken:
        return Finding("call", "fail", f"{broken.code}: {broken.message}")
    return Finding("call", "ok" if status == 200 else "fail", f"{model} answers with {status}")


async def _status(
    upstream: Upstream, method: str, target: bytes, headers: Headers, content: bytes
) -> int:
    async with upstream.open(method, target, headers, content, upstream.deadline()) as response:
        return response.status_code


async def _store(settings: Settings) -> Finding:
    if settings.store != "redis":
        return Finding("store", "ok", settings.store)
    try:
        from app.stores.shared import SharedStore  # its driver is an extra
    except ImportError:
        return Finding("store", "fail", "install `toolfold[redis]` for the store redis")
    store = SharedStore(settings.redis_url, 1, settings.redis_timeout)
    try:
        await store.save(_KEY, b"1")
        await asyncio.wait_for(store.load([_KEY]), settings.redis_timeout * 4)
    except (StoreFailed, TimeoutError) as error:
        return Finding("store", "warn", f"redis does not answer, memory would serve: {error}")
    finally:
        await store.aclose()
    return Finding("store", "ok", "redis answers")
