"""Who is asking, and what policy that makes.

The peer is the other end of the TCP connection, never what a forwarded header says of it.
"""

from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network
from typing import NamedTuple

from app.core.errors import BadRequest, Denied
from app.core.narrowing import PREFIX, narrow
from app.core.policy import Policy
from app.http import OURS, Headers, Scope
from app.policies import Policies, Tenant
from app.policies.document import NAME

_KEY = b"x-toolfold-key"
_TENANT = PREFIX + "tenant"
_KEYS = frozenset({b"authorization", b"api-key", b"x-api-key", b"x-goog-api-key"})
"""Where SDKs put a key; ours comes before them, so that theirs can be the provider's."""
_MAY_BE_OURS = (b"x-t", b"x_t")
_NARROWED = 1_024
"""Combinations of headers that are kept narrowed: an app always sends the same few."""
_PEERS = 4_096


class Asker(NamedTuple):
    """Who sent a request."""

    tenant: Tenant
    policy: Policy
    """The tenant's, narrowed."""
    ignored: int = 0
    """Headers of ours that a peer sent who is not trusted."""


class Identity:
    """Says who asks. `policies` is replaced as a whole when the policy file changes."""

    def __init__(self, policies: Policies, trusted: tuple[str, ...], *, strict: bool) -> None:
        self.policies = policies
        self._networks = [ip_network(network) for network in trusted]
        self._strict = strict
        self._trusts = lru_cache(_PEERS)(self._look_up)
        self._narrow = lru_cache(_NARROWED)(narrow)

    def of(self, scope: Scope) -> Asker:
        """Who sent this request. Raises BadRequest and Denied."""
        policies = self.policies
        ours: Headers = []
        given: Headers = []
        for name, value in scope["headers"]:
            if name in _KEYS:
                given.append((name, value))
            elif name.startswith(_MAY_BE_OURS) and name.replace(b"_", b"-").startswith(OURS):
                ours.append((name, value))
        if len(given) > 1 and sum(name == b"authorization" for name, _ in given) > 1:
            raise _unknown("There are two `Authorization` headers: send one.")
        if not ours and not policies.by_key:
            return Asker(policies.anybody, policies.anybody.policy)
        own = [value for name, value in ours if name == _KEY]
        ours = [(name, value) for name, value in ours if name != _KEY]
        ignored = 0
        if ours and not self._trusts(scope["client"]):
            if self._strict:
                name = ours[0][0].decode("latin-1")
                raise Denied(f"`{name}` is only taken from trusted peers: leave it out.", name)
            ignored, ours = len(ours), []
        said = [(n.decode("latin-1"), v.decode("latin-1").strip()) for n, v in ours]
        tenant = self._tenant(policies, own, given, [v for n, v in said if n == _TENANT])
        narrowing = tuple(header for header in said if header[0] != _TENANT)
        policy = self._narrow(tenant.policy, narrowing) if narrowing else tenant.policy
        return Asker(tenant, policy, ignored)

    def _tenant(
        self, policies: Policies, own: list[bytes], given: Headers, names: list[str]
    ) -> Tenant:
        """By its key, or by the name that a trusted peer gives."""
        named = _named(policies, names) if names else None
        known = None
        if own or policies.by_key:
            keys = own or [_bare(name, value) for name, value in given]
            known = policies.with_key(keys[0]) if len({*keys}) == 1 else None
            if known is None and (own or named is None):
                raise _unknown(_KEYS_WANTED[min(len({*keys}), 2)])
        if known and named and known.name != named.name:
            raise Denied("`X-Toolfold-Tenant` names another tenant than the key.", _TENANT)
        return known or named or policies.anybody

    def _look_up(self, client: tuple[str, int] | None) -> bool:
        try:
            address = ip_address(client[0]) if client else None
        except ValueError:
            return False
        if isinstance(address, IPv6Address) and address.ipv4_mapped:
            address = address.ipv4_mapped
        return address is not None and any(address in network for network in self._networks)


_KEYS_WANTED = (
    "No API key is given: send yours as `Authorization: Bearer KEY`.",
    "This API key is not known here.",
    "Several API keys are given: send one.",
)
"""By the number of different keys."""


def is_loopback(host: str) -> bool:
    """Whether only this machine can connect to an address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _named(policies: Policies, names: list[str]) -> Tenant:
    if len(names) > 1 or not NAME.fullmatch(names[0]):
        wanted = "one name of up to 64 of a-z, 0-9, `.`, `_` and `-`"
        raise BadRequest(f"`X-Toolfold-Tenant` must be {wanted}.", _TENANT)
    if names[0] not in policies.by_name:
        raise Denied("`X-Toolfold-Tenant` must name a tenant of the policy file.", _TENANT)
    return policies.by_name[names[0]]


def _bare(name: bytes, value: bytes) -> bytes:
    """The key in a header, "" where there is none."""
    if name != b"authorization":
        return value
    scheme, _, key = value.partition(b" ")
    return key.strip() if scheme.lower() == b"bearer" else b""


def _unknown(message: str) -> Denied:
    return Denied(message, None, "invalid_api_key", 401)
