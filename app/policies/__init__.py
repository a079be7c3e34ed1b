"""Whose policy applies: the tenants of the policy file, or one policy for all."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from hmac import compare_digest

from app.core.policy import Policy


@dataclass(frozen=True)
class Tenant:
    """Somebody whose policy applies."""

    policy: Policy
    origins: Mapping[str, str]
    """For each field of the policy where its value comes from."""
    name: str = ""
    """"" is anybody."""
    policy_name: str = ""
    """"" is the policy of the settings."""


@dataclass(frozen=True)
class Policies:
    """Everybody who is known. Never changed: a reload makes a new one."""

    anybody: Tenant
    by_name: Mapping[str, Tenant] = field(default_factory=dict)
    by_key: Mapping[bytes, Tenant] = field(default_factory=dict)
    """By the SHA-256 of an API key."""

    def with_key(self, key: bytes) -> Tenant | None:
        """The tenant whose key this is. What is looked up is a digest, so the time that it
        takes says nothing of a key that is nearly right."""
        digest = sha256(key).digest()
        for known in (digest,) if digest in self.by_key else ():
            if compare_digest(known, digest):
                return self.by_key[known]
        return None
