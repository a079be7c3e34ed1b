"""The policy file: what it makes, and that every mistake in one can be put right from its
message alone."""

from hashlib import sha256
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.policy import FIELDS, Policy
from app.policies import Policies, Tenant
from app.policies.document import Invalid
from app.policies.reader import read

BASE = Tenant(Policy(max_searches=2), dict.fromkeys(FIELDS, "default"))
HASH = sha256(b"key").hexdigest()


def made(text: str) -> Policies:
    return read(text.encode(), BASE)


def problems(raw: str | bytes) -> list[str]:
    with pytest.raises(Invalid) as caught:
        read(raw if isinstance(raw, bytes) else raw.encode(), BASE)
    return [problem.text("p.yaml") for problem in caught.value.problems]


def test_a_policy_is_the_settings_then_what_it_extends_then_its_own() -> None:
    policies = made(
        """
version: 1
policies:
  child: {extends: parent, limit: 2, hidden: [b]}
  parent: {mode: on, limit: 3, hidden: [a], min_saving: 0.25, capture: true}
tenants:
  t: {policy: child}
  u: {}
"""
    )
    tenant = policies.by_name["t"]
    assert tenant.policy == Policy(
        mode="on", limit=2, hidden=("b",), min_saving=0.25, capture=True, max_searches=2
    )
    assert tenant.origins["mode"] == "policies.parent.mode, line 5"
    assert tenant.origins["limit"] == "policies.child.limit, line 4"
    assert tenant.origins["strategy"] == "default"
    assert policies.by_name["u"].policy is BASE.policy


def test_the_default_policy_is_that_of_who_has_no_other() -> None:
    policies = made(
        "version: 1\npolicies: {p: {mode: off}}\ndefaults: {policy: p}\ntenants: {t: {}}"
    )
    assert policies.anybody.policy.mode == "off"
    assert policies.by_name["t"].policy.mode == "off"


def test_words_that_yaml_takes_for_truth_values_and_digits_for_numbers_are_texts() -> None:
    """YAML 1.1: `on` is true, and a hash of digits alone is a number."""
    digits = "1" * 64
    policies = made(
        f"version: 1\npolicies: {{on: {{mode: on, hidden: [123, off]}}}}\n"
        f"tenants: {{1: {{policy: on, keys_sha256: [{digits}]}}}}"
    )
    assert policies.by_name["1"].policy == Policy(mode="on", hidden=("123", "off"), max_searches=2)
    assert list(policies.by_key) == [bytes.fromhex(digits)]


def test_a_tenant_is_found_by_its_key() -> None:
    policies = made(f"version: 1\ntenants: {{t: {{keys_sha256: [{HASH.upper()}]}}}}")
    found = policies.with_key(b"key")
    assert found is not None
    assert found.name == "t"
    for wrong in (b"", b"ke", b"key ", b"KEY", HASH.encode(), b"' OR 1=1 --", b"k" * 2**20):
        assert policies.with_key(wrong) is None


BROKEN: dict[str, tuple[str | bytes, list[str]]] = {
    "an unknown key": (
        "version: 1\npolicies:\n  a:\n    limits: 3\n",
        ["p.yaml:4: policies.a.limits: there is no such key: did you mean `limit`?"],
    ),
    "an unknown key that is like none": (
        "version: 1\nzzz: 3\n",
        [
            "p.yaml:2: zzz: there is no such key: there are version, policies, defaults, tenants",
        ],
    ),
    "a number out of range": (
        "version: 1\npolicies: {a: {limit: 21}}\n",
        ["p.yaml:2: policies.a.limit: must be a whole number from 1 to 20"],
    ),
    "a number in quotes": (
        'version: 1\npolicies: {a: {limit: "5"}}\n',
        ["p.yaml:2: policies.a.limit: must be a whole number from 1 to 20, without quotes"],
    ),
    "not a number": (
        "version: 1\npolicies: {a: {min_saving: .nan}}\n",
        ["p.yaml:2: policies.a.min_saving: must be a number from 0 to 1"],
    ),
    "a truth value in words": (
        "version: 1\npolicies: {a: {capture: yes}}\n",
        ["p.yaml:2: policies.a.capture: must be true or false"],
    ),
    "a text where a list is wanted": (
        "version: 1\npolicies:\n  a:\n    hidden: github__*\n",
        [
            "p.yaml:4: policies.a.hidden: must be a list of patterns, such as `github__*` or "
            "`family:github`, in brackets or on lines that begin with -"
        ],
    ),
    "a pattern that is none": (
        'version: 1\npolicies: {a: {hidden: ["x", "family:", "", [y], null]}}\n',
        [
            *(
                f"p.yaml:2: policies.a.hidden[{at}]: must be a pattern, such as `github__*` or "
                "`family:crm`"
                for at in (1, 2)
            ),
            *(f"p.yaml:2: policies.a.hidden[{at}]: must be a text" for at in (3, 4)),
        ],
    ),
    "a mode that there is not": (
        "version: 1\npolicies: {a: {mode: sometimes}}\n",
        ["p.yaml:2: policies.a.mode: must be off, observe, auto or on"],
    ),
    "a policy that there is not": (
        "version: 1\npolicies: {a: {}}\ndefaults: {policy: b}\n",
        ["p.yaml:3: defaults.policy: must be the name of a policy of this file; there are: `a`"],
    ),
    "policies in a circle": (
        "version: 1\npolicies:\n  a: {extends: b}\n  b: {extends: a}\n  c: {extends: a}\n",
        [
            "p.yaml:3: policies.a.extends: goes in a circle: a -> b -> a",
            "p.yaml:4: policies.b.extends: goes in a circle: b -> a -> b",
        ],
    ),
    "a policy that extends itself": (
        "version: 1\npolicies: {a: {extends: a}}\n",
        ["p.yaml:2: policies.a.extends: goes in a circle: a -> a"],
    ),
    "a key twice": (
        "version: 1\ntenants:\n  t: {}\n  t: {}\n",
        ["p.yaml:4: tenants.t: is written twice: the first is on line 3"],
    ),
    "a key that is no hash, and is not shown": (
        "version: 1\ntenants: {t: {keys_sha256: [sk-secret]}}\n",
        [
            "p.yaml:2: tenants.t.keys_sha256[0]: must be the SHA-256 of a key in 64 hex digits, "
            "as `printf %s KEY | sha256sum` prints it"
        ],
    ),
    "one key at two tenants": (
        f"version: 1\ntenants:\n  t: {{keys_sha256: [{HASH}]}}\n"
        f"  u: {{keys_sha256: [{HASH.upper()}]}}\n",
        ["p.yaml:4: tenants.u.keys_sha256[0]: is already a key of `t`, on line 3"],
    ),
    "a name that is none": (
        "version: 1\ntenants: {Ac me: {}}\n",
        [
            "p.yaml:2: tenants.Ac me: is not a name: use up to 64 of a-z, 0-9, `.`, `_` and `-`",
        ],
    ),
    "nothing": ("", ["p.yaml:1: the file is empty: begin with `version: 1`"]),
    "only comments": ("# nothing\n", ["p.yaml:1: the file is empty: begin with `version: 1`"]),
    "no version": (
        "tenants: {t: {}}\n",
        ["p.yaml:1: version: is missing: begin with `version: 1`"],
    ),
    "another version": ("version: 2\n", ["p.yaml:1: version: must be 1"]),
    "a list": (
        "- version: 1\n",
        [
            "p.yaml:1: must be a mapping with `version` or `policies` or `defaults` or `tenants`: "
            "lines of `key: value`"
        ],
    ),
    "an empty section": (
        "version: 1\npolicies:\n",
        ["p.yaml:2: policies: must be a mapping of names: lines of `key: value`"],
    ),
    "a bracket that is not closed": (
        "version: 1\npolicies: {a: {hidden: [x}}\n",
        ["p.yaml:2: this is not YAML: did not find expected ',' or ']'"],
    ),
    "a tab": (
        "version: 1\n\tpolicies: {}\n",
        ["p.yaml:2: this is not YAML: found a tab character that violates indentation"],
    ),
    "two documents": (
        "version: 1\n---\nversion: 1\n",
        ["p.yaml:2: this is not YAML: but found another document"],
    ),
    "not UTF-8": (
        b"version: 1\n# caf\xe9\n",
        ["p.yaml:2: this is not UTF-8: save the file as UTF-8"],
    ),
    "a control character": (
        "version: 1\n# \x00\n",
        ["p.yaml:2: there is a control character here"],
    ),
    "an alias": (
        "version: 1\npolicies:\n  a: &a {mode: on}\n  b: *a\n",
        ["p.yaml:4: aliases such as `*a` are not taken: use `extends`"],
    ),
    "a merge": (
        "version: 1\npolicies: {a: {<<: {mode: on}}}\n",
        ["p.yaml:2: policies.a.<<: there is no such key: there are extends, " + ", ".join(FIELDS)],
    ),
    "very deep": (
        "version: 1\npolicies: " + "{a: " * 20 + "1" + "}" * 20,
        ["p.yaml:2: this is nested more than 16 deep"],
    ),
    "very long": (b"#" * (2**20 + 1), ["p.yaml:1: the file is longer than 1024 KiB"]),
    "an object of Python's": (
        "version: !!python/object/apply:os.system [x]\n",
        ["p.yaml:1: version: must be 1"],
    ),
}


@pytest.mark.parametrize(("raw", "said"), BROKEN.values(), ids=BROKEN)
def test_C39_a_broken_file_is_said_with_line_path_and_what_to_do(
    raw: str | bytes, said: list[str]
) -> None:
    assert problems(raw) == said


def test_all_problems_are_said_at_once_in_their_order() -> None:
    assert [
        line.split(": ")[0]
        for line in problems(
            "version: 2\npolicies:\n  a: {limit: 0, extends: z}\n  b: {x: 1}\n"
            "tenants:\n  t: {y: 1}\n"
        )
    ] == ["p.yaml:1", "p.yaml:3", "p.yaml:3", "p.yaml:4", "p.yaml:6"]


def test_a_bomb_takes_no_time() -> None:
    lines = ["a: &a [x,x,x,x,x,x,x,x,x]"]
    lines += [f"{b}: &{b} [{','.join(['*' + a] * 9)}]" for a, b in pairwise("abcdefghi")]
    assert "aliases" in problems("\n".join(lines))[0]


@given(
    st.text(
        alphabet=st.sampled_from(list("version: 1\npolcesdatn{}[],&*!|>-#'\"%@`~\t\x01é")),
        max_size=80,
    )
)
def test_whatever_is_in_it_a_file_is_good_or_has_problems(text: str) -> None:
    try:
        found = len(made(text).by_name) + 1
    except Invalid as invalid:
        found = len(invalid.problems)
    assert found
