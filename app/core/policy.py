"""A policy: everything that can be set for a tenant or a request, in one value.

Each field stands with its `Knob`: what it is for, its bounds, and how a request may narrow
it. Settings, the policy file, its JSON Schema, the headers and the docs are read off here.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from app.core.schema.budget import LEAST, SchemaBudget
from app.core.schema.profiles import Profile

Mode = Literal["off", "observe", "auto", "on"]
"""From the one that does least to the one that does most."""
Strategy = Literal["promote", "wrap", "native"]
Place = Literal["auto", "system"]
Dialect = Literal["native", "json_tag", "pformat"]
Exposure = Literal["direct", "deferred", "hidden"]
RemoteName = Literal["embeddings", "rerank", "http"]
RankerName = Literal["lexical", "bm25", RemoteName]
RankerMode = Literal["ranker", "bm25", "compare"]
Kind = Literal["word", "list", "switch", "integer", "number", "budget"]

MOST_HITS = 20
"""The largest `limit` of a search."""

Narrows = Literal["never", "free", "back", "down", "less", "adds"]
"""What a header may do: nothing; choose any word; go back in the order of the words; go
down to a smaller number; ask for fewer bytes; add patterns to the list."""


class Knob(NamedTuple):
    """What is said of a field beside its type and its default."""

    says: str
    narrows: Narrows = "never"
    least: float | None = None
    most: float | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """One value with every knob. Equal policies share compiled catalogs, so it is hashable."""

    mode: Annotated[
        Mode,
        Knob(
            "Fold when it pays (auto), always (on), never (off); or only measure (observe).",
            "back",
        ),
    ] = "auto"
    strategy: Annotated[
        Strategy, Knob("How found tools become callable: promote, wrap or native.", "free")
    ] = "promote"
    default_exposure: Annotated[
        Exposure,
        Knob("What a tool is that no pattern names: deferred, direct or hidden."),
    ] = "deferred"
    direct: Annotated[
        tuple[str, ...], Knob("Tools always declared: globs or family:NAME.", "adds")
    ] = ()
    deferred: Annotated[
        tuple[str, ...], Knob("Tools not declared, but found by search.", "adds")
    ] = ()
    hidden: Annotated[tuple[str, ...], Knob("Tools that no model may see or call.", "adds")] = ()
    admit_bridge: Annotated[
        bool, Knob("With default_exposure hidden: add the search tool all the same.")
    ] = False
    min_tokens: Annotated[int, Knob("auto: fold from this many tool tokens on.", least=0)] = 2_000
    min_saving: Annotated[float, Knob("auto: least share of them saved.", least=0, most=1)] = 0.4
    max_tools: Annotated[int, Knob("Most tools the upstream takes.", least=1)] = 128
    limit: Annotated[int, Knob("Tools that one query loads.", "down", least=1, most=MOST_HITS)] = 5
    max_searches: Annotated[int, Knob("Searches in one request of the app.", "down", least=1)] = 5
    manifest_tokens: Annotated[int, Knob("Token budget of the list of tools.", "down", least=0)] = (
        4_000
    )
    manifest_place: Annotated[Place, Knob("Where the list stands: auto or system.")] = "auto"
    result_tokens: Annotated[int, Knob("Token budget of one search's result.", least=1)] = 4_000
    schema_budget: Annotated[
        SchemaBudget,
        Knob("Bytes of one tool's schema: off, third_party (5000) or a number.", "less"),
    ] = "off"
    schema_profile: Annotated[
        Profile, Knob("JSON Schema that the upstream takes: none (all), openai_strict, gemini.")
    ] = "none"
    ranker: Annotated[
        RankerName,
        Knob("What ranks tools: lexical, bm25, or embeddings, rerank or http at the URL."),
    ] = "lexical"
    ranker_mode: Annotated[
        RankerMode, Knob("Serve the ranker, serve bm25 instead, or compare both.")
    ] = "ranker"
    dialect: Annotated[
        Dialect, Knob("How the model speaks tools: native, or as text: json_tag or pformat.")
    ] = "native"
    recover: Annotated[bool, Knob("native: read calls that the model writes as text.")] = False
    capture: Annotated[bool, Knob("Let search queries into logs and traces.")] = False
    within: "Policy | None" = None
    """The policy that a request has narrowed: what that one hides stays hidden."""

    @property
    def may_hide(self) -> bool:
        """Whether there can be a tool that no model may see."""
        return bool(self.hidden) or self.default_exposure == "hidden"


class Field(NamedTuple):
    """A knob with the type and the default of its field."""

    name: str
    knob: Knob
    kind: Kind
    default: Any
    words: tuple[str, ...] = ()
    """What may be said, where it is a word."""

    @property
    def header(self) -> str:
        """The request header that narrows it."""
        return "X-Toolfold-" + self.name.replace("_", "-").title()

    @property
    def wanted(self) -> str:
        """What a value has to be, in words that follow "must be"."""
        least, most = self.knob.least, self.knob.most
        match self.kind:
            case "word":
                return f"{', '.join(self.words[:-1])} or {self.words[-1]}"
            case "list":
                return "a list of patterns, such as `github__*` or `family:github`"
            case "switch":
                return "true or false"
            case "budget":
                return f"off, third_party or a whole number of bytes from {LEAST} on"
        number = "a whole number" if self.kind == "integer" else "a number"
        return f"{number} from {least}" + (f" to {most}" if most is not None else " on")

    def admits(self, number: float) -> bool:
        """Whether a number is within the bounds."""
        least, most = self.knob.least, self.knob.most
        return (least is None or number >= least) and (most is None or number <= most)


def _fields() -> dict[str, Field]:
    found = {}
    for name, hint in get_type_hints(Policy, include_extras=True).items():
        if get_origin(hint) is Annotated:
            inner, knob = get_args(hint)
            words = get_args(inner) if get_origin(inner) is Literal else ()
            kind = "word" if words else _KINDS[get_origin(inner) or inner]
            default = Policy.__dataclass_fields__[name].default
            found[name] = Field(name, knob, kind, default, words)
    return found


_KINDS: dict[Any, Kind] = {
    tuple: "list",
    bool: "switch",
    int: "integer",
    float: "number",
    Union: "budget",
}

FIELDS = _fields()
"""Every knob by its name, in order."""
