"""The policy file: from YAML to policies and tenants, or to all that is wrong with it."""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import yaml

from app.core.policy import FIELDS, Field
from app.core.schema.budget import read_schema_budget
from app.policies import Policies, Tenant
from app.policies.document import (
    Invalid,
    Member,
    Reading,
    compose,
    joined,
    line_of,
    text_of,
)

VERSION = 1
SECTIONS = ("version", "policies", "defaults", "tenants")
TENANT = ("keys_sha256", "policy")
_EXTENDS = "extends"
_HASH = re.compile(r"[0-9a-fA-F]{64}")
_INTEGER = re.compile(r"[0-9]+(?:_[0-9]+)*")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_HOW_TO_HASH = "the SHA-256 of a key in 64 hex digits, as `printf %s KEY | sha256sum` prints it"


def read(raw: bytes, base: Tenant) -> Policies:
    """The policies of a file. What it does not set is as in `base`. Raises Invalid."""
    return _File(base).read(compose(raw))


class _File(Reading):
    def __init__(self, base: Tenant) -> None:
        super().__init__()
        self._base = base
        self._written: dict[str, dict[str, Member]] = {}
        """The members of each policy."""

    def read(self, root: yaml.Node) -> Policies:
        sections = self.mapping(root, "", SECTIONS)
        self._version(root, sections.get("version"))
        if "policies" in sections:
            for name, member in self.mapping(sections["policies"].value, "policies").items():
                path = f"policies.{name}"
                self._written[name] = self.mapping(member.value, path, (_EXTENDS, *FIELDS))
        made = {name: self._policy(name) for name in self._written}
        anybody = self._base
        if "defaults" in sections:
            defaults = self.mapping(sections["defaults"].value, "defaults", ("policy",))
            anybody = self._chosen(defaults.get("policy"), "defaults.policy", made, anybody)
        by_name, by_key = self._tenants(sections.get("tenants"), made, anybody)
        if self.problems:
            raise Invalid(self.problems)
        return Policies(anybody, by_name, by_key)

    def _version(self, root: yaml.Node, member: Member | None) -> None:
        if member is None:
            if isinstance(root, yaml.MappingNode):
                self.fault(root, "version", f"is missing: begin with `version: {VERSION}`")
        elif text_of(member.value) != str(VERSION):
            self.fault(member.value, "version", f"must be {VERSION}")

    # -- policies -----------------------------------------------------------

    def _policy(self, name: str) -> Tenant:
        """A policy, with all that it extends."""
        values: dict[str, Any] = {}
        origins: dict[str, str] = {}
        for one in reversed(list(self._lineage(name))):
            for key, member in self._written[one].items():
                if key != _EXTENDS:
                    path = f"policies.{one}.{key}"
                    value = self._value(FIELDS[key], member.value, path)
                    if value is not None:
                        values[key] = value
                        origins[key] = f"{path}, line {member.line}"
        policy = replace(self._base.policy, **values)
        return replace(
            self._base, policy=policy, origins={**self._base.origins, **origins}, policy_name=name
        )

    def _lineage(self, name: str) -> Iterator[str]:
        """The policy and those that it extends, nearest first."""
        passed: list[str] = []
        while name not in passed:
            passed.append(name)
            yield name
            member = self._written[name].get(_EXTENDS)
            if member is None:
                return
            path = f"policies.{name}.{_EXTENDS}"
            wanted = self._known(member.value, path)
            if wanted is None:
                return
            name = wanted
        if name == passed[0]:  # said once, by each that is in the circle
            circle = " -> ".join([*passed, name])
            member = self._written[name][_EXTENDS]
            self.fault(member.value, f"policies.{name}.{_EXTENDS}", f"goes in a circle: {circle}")

    def _known(self, node: yaml.Node, path: str) -> str | None:
        """The name of a policy that there is."""
        name = text_of(node)
        if name in self._written:
            return name
        there = ", ".join(f"`{one}`" for one in self._written) or "none"
        self.fault(node, path, f"must be the name of a policy of this file; there are: {there}")
        return None

    def _chosen(
        self, member: Member | None, path: str, made: dict[str, Tenant], otherwise: Tenant
    ) -> Tenant:
        name = None if member is None else self._known(member.value, path)
        return otherwise if name is None else made[name]

    def _value(self, field: Field, node: yaml.Node, path: str) -> Any:
        """A field's value; None where it is wrong."""
        if field.kind == "list":
            return self._patterns(field, node, path)
        text = text_of(node) or ""
        kind = node.tag.rpartition(":")[2]
        value: Any = None
        match field.kind:
            case "word" if text in field.words:
                value = text
            case "switch" if kind == "bool" and text.lower() in ("true", "false"):
                value = text.lower() == "true"
            case "integer" if kind == "int" and _INTEGER.fullmatch(text) and len(text) < 16:
                value = int(text)
            case "number" if kind in ("int", "float") and _NUMBER.fullmatch(text):
                value = float(text)
            case "budget":
                with suppress(ValueError):
                    value = read_schema_budget(text)
        if value is None or (field.kind in ("integer", "number") and not field.admits(value)):
            quoted = ", without quotes" if kind == "str" and getattr(node, "style", None) else ""
            self.fault(node, path, f"must be {field.wanted}{quoted}")
            return None
        return value

    def _patterns(self, field: Field, node: yaml.Node, path: str) -> tuple[str, ...]:
        patterns = []
        for entry, here, text in self.texts(node, path, field.wanted):
            if not text or not text.isprintable() or text == "family:" or text != text.strip():
                self.fault(entry, here, "must be a pattern, such as `github__*` or `family:crm`")
            else:
                patterns.append(text)
        return tuple(patterns)

    # -- tenants ------------------------------------------------------------

    def _tenants(
        self, member: Member | None, made: dict[str, Tenant], anybody: Tenant
    ) -> tuple[dict[str, Tenant], dict[bytes, Tenant]]:
        by_name: dict[str, Tenant] = {}
        by_key: dict[bytes, Tenant] = {}
        lines: dict[bytes, int] = {}
        for name, one in (self.mapping(member.value, "tenants") if member else {}).items():
            path = f"tenants.{name}"
            said = self.mapping(one.value, path, TENANT)
            chosen = self._chosen(said.get("policy"), f"{path}.policy", made, anybody)
            by_name[name] = tenant = replace(chosen, name=name)
            keys = joined(path, "keys_sha256")
            entries = (
                self.texts(said["keys_sha256"].value, keys, "a list of hashes")
                if ("keys_sha256" in said)
                else []
            )
            for node, here, text in entries:
                if not _HASH.fullmatch(text):  # not shown: it may be the key itself
                    self.fault(node, here, f"must be {_HOW_TO_HASH}")
                    continue
                digest = bytes.fromhex(text)
                if digest in by_key:
                    why = f"is already a key of `{by_key[digest].name}`, on line {lines[digest]}"
                    self.fault(node, here, why)
                by_key.setdefault(digest, tenant)
                lines.setdefault(digest, line_of(node))
        return by_name, by_key
