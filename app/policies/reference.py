"""What is written about policies, made from their fields: the JSON Schema and the docs."""

from typing import Any

from app.core.policy import FIELDS, Field, Narrows
from app.core.schema.budget import LEAST
from app.policies.document import NAME
from app.policies.reader import SECTIONS, TENANT, VERSION

_NARROWS: dict[Narrows, str] = {
    "never": "",
    "free": "any of the words",
    "back": "a word further to the left",
    "down": "a smaller number",
    "less": "fewer bytes",
    "adds": "adds to the list; no header brings back what the policy hides",
}


_PAGE = """# Policies

Written by `make docs`: what is said here is said in the code.

A value comes from the last of these that sets it: Toolfold's default, the settings
(`TOOLFOLD_NAME`, or a flag), the policies of the policy file (`extends` first), the request's
headers. `toolfold explain` shows which one it was. A list takes the place of the list before it;
only a header adds to it.

{table}
Patterns are shell globs on a tool's name (`github__*`), or `family:NAME`; a tool that has no name
goes by its type. The first of `hidden`, `direct` and `deferred` that matches decides, then the
app's own `defer_loading`, then what must always be at hand (tools that ask, finish or hand over),
then `default_exposure`.

## Hidden

A hidden tool is not declared, not listed, not found, not named in an answer, and a call of it, in
whatever spelling, never leaves. This holds in every mode, `off` and `observe` included. A request
that could carry such a tool past Toolfold is refused instead of relayed: a body that cannot be
read, legacy `functions`, `n` over 1 with hidden tools, a `tool_choice` that only a hidden tool
could answer (400), and endpoints other than chat completions that may take tools, such as
`/v1/responses` (403). What Toolfold does not write, it does not change: the app's own messages
and the declarations of other tools may speak of a hidden tool.

With `default_exposure: hidden` only what `direct` and `deferred` name is there, and the search
tool only with `admit_bridge: true`: no pattern admits it, since a tool of the app's own may be
called `tool_search`. A pattern in `hidden` that matches `tool_search` (or, with `wrap`,
`call_tool`) takes the search away. Where there is no search nothing is deferred.

## Headers

Taken from `trusted_peers` (the TCP peer; no forwarded header counts) and never sent on. From
others they are ignored and counted in the log, or refused with `strict_headers`. A value that
cannot be read is a 400, one that asks for more a 403; both name the header. Beside those of the
table there are `X-Toolfold-Tenant` (a tenant of the file, by name) and, from everybody,
`X-Toolfold-Key` (a tenant's key, where `Authorization` is the provider's).

## Keys

Where a tenant has `keys_sha256`, every request needs one of those keys, in `X-Toolfold-Key`,
`Authorization`, `api-key`, `x-api-key` or `x-goog-api-key`, unless a trusted peer names the
tenant. The key goes on to the upstream, unless there is an `upstream_key`: then that one does, and
nothing that says who the client is.

## The file

`TOOLFOLD_POLICY_FILE` is read at the start, on SIGHUP and when it changes. A file with a problem is
not taken: the one before it stays, and the log says every problem with its line. `toolfold policy
check` says the same before that; `toolfold policy schema` prints the JSON Schema for editors.
"""


def schema() -> dict[str, Any]:
    """The JSON Schema of the policy file."""
    name = {"type": "string", "pattern": f"^{NAME.pattern}$"}
    settings = {
        "extends": {**name, "description": "A policy whose settings hold where this has none."}
    }
    settings |= {field.name: _schema(field) for field in FIELDS.values()}
    digest = {"type": "string", "pattern": "^[0-9a-fA-F]{64}$"}
    keys = {"type": "array", "items": digest, "description": "SHA-256 of the tenant's API keys."}
    members = (
        {"const": VERSION, "description": "The version of this format."},
        _named({"type": "object", "additionalProperties": False, "properties": settings}),
        _object({"policy": {**name, "description": "The policy of who has no other."}}),
        _named(
            _object(dict(zip(TENANT, (keys, {**name, "description": "Its policy."}), strict=True)))
        ),
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Toolfold policy file",
        **_object(dict(zip(SECTIONS, members, strict=True))),
        "required": [SECTIONS[0]],
    }


def document() -> str:
    """The page of the docs about policies."""
    return _PAGE.format(table=_table())


def _table() -> str:
    head = ("field", "values", "default", "meaning", "header", "a request may ask for")
    rows = [head, ("---",) * len(head), *(_row(field) for field in FIELDS.values())]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _row(field: Field) -> tuple[str, ...]:
    narrows = field.knob.narrows
    header = f"`{field.header}`" if narrows != "never" else ""
    default = _written(field.default)
    values = ", ".join(f"`{word}`" for word in field.words) or field.wanted.partition(",")[0]
    says = field.knob.says.replace("|", "\\|")
    return (f"`{field.name}`", values, f"`{default}`", says, header, _NARROWS[narrows])


def _written(default: object) -> str:
    if isinstance(default, tuple):
        return f"[{', '.join(default)}]"
    return str(default).lower() if isinstance(default, bool) else str(default)


def _schema(field: Field) -> dict[str, Any]:
    default = list(field.default) if field.kind == "list" else field.default
    said = {"description": field.knob.says, "default": default}
    bounds = {"minimum": field.knob.least, "maximum": field.knob.most}
    match field.kind:
        case "word":
            return {"enum": list(field.words), **said}
        case "list":
            return {"type": "array", "items": {"type": "string", "minLength": 1}, **said}
        case "switch":
            return {"type": "boolean", **said}
        case "budget":
            number = {"type": "integer", "minimum": LEAST}
            return {"anyOf": [{"enum": ["off", "third_party"]}, number], **said}
        case kind:
            return {"type": kind, **{k: v for k, v in bounds.items() if v is not None}, **said}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _named(each: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "patternProperties": {f"^{NAME.pattern}$": each},
    }
