"""Policies and tenants as the settings say: one policy for all, or those of the file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from app.core.errors import BadRequest
from app.core.narrowing import HEADERS, narrow
from app.core.policy import FIELDS, Policy
from app.identity import is_loopback
from app.policies import Policies, Tenant
from app.policies.document import Invalid, Problem
from app.policies.reader import read
from app.settings import Settings


class Unsafe(Exception):
    """Anybody could use what is about to be served. The text says what to do."""


def anybody(settings: Settings) -> Tenant:
    """Who is not known has the policy of the settings."""
    return Tenant(settings.policy(), settings.origins())


def check_open(settings: Settings) -> None:
    """Raises Unsafe where without keys everybody on a network would be let in."""
    if not settings.policy_file and _is_open(settings):
        raise Unsafe(_unsafe(settings))


def read_policies(raw: bytes, settings: Settings) -> Policies:
    """The policies of a file. Raises Invalid, also for one that would let everybody in."""
    policies = read(raw, anybody(settings))
    if not policies.by_key and _is_open(settings):
        raise Invalid([Problem(1, "tenants", _unsafe(settings))])
    return policies


def check_policies(settings: Settings) -> None:
    """Raises Unsafe and Invalid where with these settings nothing would be served."""
    check_open(settings)
    if settings.policy_file:
        read_policies(_raw(settings), settings)


def _raw(settings: Settings) -> bytes:
    try:
        return Path(settings.policy_file).read_bytes()
    except OSError as error:
        raise Invalid([Problem(1, "", f"cannot be read: {error.strerror}")]) from None


def _is_open(settings: Settings) -> bool:
    return not settings.insecure and not is_loopback(settings.host)


def _unsafe(settings: Settings) -> str:
    return (
        f"anybody who reaches {settings.host} could use this: give tenants keys in a policy "
        "file (TOOLFOLD_POLICY_FILE), listen on 127.0.0.1, or say --insecure"
    )


class Resolved(NamedTuple):
    """A policy, and for each field where its value comes from."""

    policy: Policy
    origins: Mapping[str, str]

    def as_json(self) -> dict[str, Any]:
        """`{field: {"value": ..., "from": ...}}`"""
        return {
            name: {"value": getattr(self.policy, name), "from": self.origins[name]}
            for name in FIELDS
        }


def resolve(settings: Settings, tenant: str = "", headers: Sequence[str] = ()) -> Resolved:
    """The policy of a tenant's request with these headers, each as `name: value`. Raises
    Invalid, BadRequest and Denied."""
    policies = Policies(anybody(settings))
    if settings.policy_file:
        policies = read(_raw(settings), policies.anybody)
    if tenant and tenant not in policies.by_name:
        raise BadRequest(f"The policy file has no tenant `{tenant}`.", "tenant")
    who = policies.by_name[tenant] if tenant else policies.anybody
    split = (header.partition(":") for header in headers)
    given = tuple((name.strip().lower(), value.strip()) for name, _, value in split)
    said = {
        HEADERS[name].name: f"header {HEADERS[name].header}" for name, _ in given if name in HEADERS
    }
    return Resolved(narrow(who.policy, given), {**who.origins, **said})
