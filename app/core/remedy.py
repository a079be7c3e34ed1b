"""What a refusal teaches of an upstream: the other form of the thing that it names.

Only what is ours is ever given another form. A refusal that folding did not cause, a bad key
or a model that does not exist, teaches nothing and is passed on at once.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from app.core.chunks import dicts
from app.core.codec import Json
from app.core.errors import Refused
from app.core.exchange import Exchange
from app.core.fold import Fold
from app.core.refusal import is_of_its_output, said
from app.core.traits import Traits

_OTHER_BRIDGE, _OTHER_WRAPPER = "find_tools", "run_tool"
_PLAIN_NAME = r"[a-zA-Z0-9_-]{1,64}"

_REFUSES = re.compile(
    r"extra|unsupported|not supported|does not support|unknown|unrecogni[sz]ed|unexpected|"
    r"not permitted|not allowed|forbidden|additional propert|not (?:a )?valid|invalid|no such|"
    r"must not|should not|cannot (?:be|contain|include)|undefined"
)
_REFUSES_ALL = re.compile(
    r"extra[ _](?:inputs?|fields?|propert\w+|forbidden)|additional propert|"
    r"(?:unexpected|unknown|unrecogni[sz]ed|unsupported) "
    r"(?:field|propert|key|member|argument|param)"
)
_WANTS = re.compile(
    r"missing|required|must (?:be (?:passed|provided|present|included|set|sent|a)|have|include|"
    r"contain|carry)|needs?\b|lacks?\b|without|expected|absent|not found|no \w+ (?:found|provided)|"
    r"empty|blank"
)
_THOUGHT = re.compile(r"\b(?:reasoning(?:_\w+)?|thinking(?:_\w+)?)\b")
_THOUGHTS = ("reasoning_content", "reasoning", "reasoning_details", "thinking_blocks")
_SIGNATURE = re.compile(r"thought_?\s?signature", re.IGNORECASE)
_AN_ID = re.compile(r"tool[_ .]?call[_ .]?id|tool_?calls\W{0,4}\d*\W{0,3}id\b|tool[_ ]use\W{0,3}id")
_OF_AN_ID = re.compile(
    r"length|character|alphanumeric|a-z|too long|too short|max|pattern|format|match|digit|invalid"
)
_EMPTY = re.compile(r"empty|blank|whitespace|at least (?:1|one)|min_?length|non-?empty|too short")
_NULL = re.compile(r"null|none|missing|required|must be a string|valid string|string_type")
_RESULT_NAME = re.compile(
    r"function_?response\W{1,3}name|\btool\b[^a-z]{0,40}(?:message)?\W*name\b"
)
_LENGTH = re.compile(r"long|length|exceed|at most|max|limit|characters|\b1024\b")
_PLACE = re.compile(r"tools(?:\[|[./])(\d+)\b")
_MOST = re.compile(
    r"(?:max\w*|at most|limit\w*|up to|more than|fewer than|exceed\w*|>)\D{0,40}?(\d{1,6})"
)
_DEFERRING = re.compile(r"defer_?loading|tool_?reference")
_OF_A_CHOICE = re.compile(r"tool_choice|parallel_tool_calls")
_OF_HISTORY = re.compile(r"\bmessages?\W{0,2}\d|\brole\b|tool_calls?\b|tool_call_id")
_ABOUT_TOOLS = re.compile(r"\btools?\b|\bfunctions?\b|tool_|function_")
_ABOUT_MESSAGES = re.compile(r"\bmessages?\b|\bassistant\b|\bcontent\b|\brole\b")


@dataclass(frozen=True, slots=True)
class Sent:
    """What of a refused request was ours."""

    fold: Fold
    tools: tuple[str, ...]
    """The tools declared, in order."""
    promoted: tuple[str, ...]
    messages: tuple[Json, ...]
    """Our assistant messages, as they went."""
    calling: bool
    """Whether a call could be made."""


class Remedy(NamedTuple):
    """The other form, and what it is of."""

    trait: str
    traits: Traits
    barred: frozenset[str] = frozenset()
    """Tools that are not to be declared in this turn."""


def sent(
    fold: Fold, promoted: Sequence[str], exchanges: Iterable[Exchange], *, calling: bool
) -> Sent:
    """What was ours of a round with these tools and exchanges."""
    terms = fold.terms
    ours = [terms.bridge, *([terms.wrapper] if terms.wraps else [])] if terms.shape.deferred else []
    tools = (*(tool.name for tool in terms.shape.direct), *ours, *promoted)
    told = [one.messages(terms) for one in (*fold.restored, *exchanges)]
    messages = tuple(message for each in told for message in each[:1])
    return Sent(fold, tools, tuple(promoted), messages, calling)


def remedy(refusal: Refused, what: Sent) -> Remedy | None:
    """What to send instead, None where the refusal names nothing that has another form."""
    text = said(refusal)
    if text is None:
        return None
    found = next((one for rule in _RULES if (one := rule(text, what)) is not None), None)
    barred = what.fold.terms.barred
    return found and found._replace(barred=found.barred | barred)


def is_ours(refusal: Refused, what: Sent) -> bool:
    """Whether folding may be why: then the client's own request may be taken."""
    text = said(refusal)
    if text is None:
        return is_of_its_output(refusal)
    terms, pointed = what.fold.terms, _pointed(text, what)
    if pointed and all(map(terms.is_direct, pointed)):
        return False
    chosen = terms.choice.kind == "allowed" or not what.calling
    if (not chosen and _OF_A_CHOICE.search(text)) or (
        not what.messages and _OF_HISTORY.search(text)
    ):
        return False  # what it names is as the client sent it
    return bool(_ABOUT_TOOLS.search(text) or (what.messages and _ABOUT_MESSAGES.search(text)))


def _deferring(text: str, what: Sent) -> Remedy | None:
    terms = what.fold.terms
    if not terms.marks or not _DEFERRING.search(text):
        return None
    if terms.refers and re.search("reference", text):
        return Remedy("references", replace(terms.traits, references=False))
    return Remedy("defers", replace(terms.traits, defers=False))


def _signed(text: str, what: Sent) -> Remedy | None:
    traits = what.fold.terms.traits
    if traits.signs or not what.messages or not _SIGNATURE.search(text):
        return None
    return Remedy("signs", replace(traits, signs=True)) if _WANTS.search(text) else None


def _echoed(text: str, what: Sent) -> Remedy | None:
    """A member of our messages that is refused, or one that is wanted and not there."""
    traits = what.fold.terms.traits
    members = {name for message in what.messages for name in _members(message)}
    named = {name for name in members if re.search(rf"\b{re.escape(name.lower())}\b", text)}
    thought = {word for word in _THOUGHT.findall(text) if word in _THOUGHTS} - traits.never
    lacking = {t for t in thought if any(t not in message for message in what.messages)}
    wanted = lacking - traits.wants if _WANTS.search(text) or not _REFUSES.search(text) else set()
    if wanted and not (named & wanted and _REFUSES_ALL.search(text)):
        return Remedy("wants", replace(traits, wants=traits.wants | wanted))
    if named and (_REFUSES.search(text) or not _WANTS.search(text)):
        return Remedy("never", _without(traits, named))
    if members and _REFUSES_ALL.search(text) and not _PLACE.search(text):
        return Remedy("never", _without(traits, {"*"}))
    return None


def _identified(text: str, what: Sent) -> Remedy | None:
    traits = what.fold.terms.traits
    about = _AN_ID.search(text) and _OF_AN_ID.search(text)
    if traits.short_ids or not what.messages or not about:
        return None
    return Remedy("short_ids", replace(traits, short_ids=True))


def _result(text: str, what: Sent) -> Remedy | None:
    traits = what.fold.terms.traits
    wanted = _RESULT_NAME.search(text) and _WANTS.search(text)
    if traits.names_results or not what.messages or not wanted:
        return None
    return Remedy("names_results", replace(traits, names_results=True))


def _content(text: str, what: Sent) -> Remedy | None:
    """Said nothing: as a text or as null. Each form is tried where the other is refused."""
    traits = what.fold.terms.traits
    silent = any(not message["content"] for message in what.messages)
    if not silent or not re.search(r"\bcontent\b|\btext\b|\bassistant\b", text):
        return None
    if traits.content == "" and _EMPTY.search(text):
        return Remedy("content", replace(traits, content=None))
    if traits.content is None and _NULL.search(text):
        return Remedy("content", replace(traits, content=""))
    return None


def _described(text: str, what: Sent) -> Remedy | None:
    """The bridge's description is longer than the upstream takes."""
    traits = what.fold.terms.traits
    if traits.manifest == "system" or "description" not in text or not _LENGTH.search(text):
        return None
    named = _named(text, what)
    ours = not named or what.fold.terms.bridge in named
    return Remedy("manifest", replace(traits, manifest="system")) if ours else None


def _counted(text: str, what: Sent) -> Remedy | None:
    """More tools than it takes."""
    terms, traits = what.fold.terms, what.fold.terms.traits
    if not re.search(r"\btools\b|\bfunctions\b", text) or _PLACE.search(text):
        return None
    if terms.marks and (_LENGTH.search(text) or _MOST.search(text)):
        return Remedy("defers", replace(traits, defers=False))
    most = min(map(int, _MOST.findall(text)), default=0)
    if not 0 < most < len(what.tools) or len(what.tools) - most > len(what.promoted):
        return None
    return Remedy("most_tools", replace(traits, most_tools=most))


def _chosen(text: str, what: Sent) -> Remedy | None:
    traits = what.fold.terms.traits
    if what.calling or not traits.takes_none or "tool_choice" not in text:
        return None
    return Remedy("takes_none", replace(traits, takes_none=False))


def _called(text: str, what: Sent) -> Remedy | None:
    """The name of a tool of ours is refused, or the declaration of one that was found."""
    terms = what.fold.terms
    named = _named(text, what)
    if terms.bridge in named and terms.traits.bridge != _OTHER_BRIDGE:
        return Remedy("bridge", replace(terms.traits, bridge=_OTHER_BRIDGE))
    if terms.wrapper in named and terms.traits.wrapper != _OTHER_WRAPPER:
        return Remedy("wrapper", replace(terms.traits, wrapper=_OTHER_WRAPPER))
    refused = frozenset(named).intersection(what.promoted).difference(terms.choice.names)
    if not refused:
        return None
    illegal = any(not re.fullmatch(_PLAIN_NAME, name) for name in refused)
    learned = illegal and terms.traits.names is None and "name" in text
    traits = replace(terms.traits, names=_PLAIN_NAME) if learned else terms.traits
    return Remedy("names" if learned else "tool", traits, refused)


_RULES = (
    *(_deferring, _signed, _identified, _result, _echoed, _content),
    *(_described, _counted, _chosen, _called),
)
"""The narrowest first: the name of a tool stands in many refusals."""


def _named(text: str, what: Sent) -> set[str]:
    """The tools of ours, and of those found, that a text names or points at."""
    ours = {what.fold.terms.bridge, what.fold.terms.wrapper, *what.promoted} - {""}
    spelled = {n for n in ours if re.search(rf"(?<![\w-]){re.escape(n.lower())}(?![\w-])", text)}
    return _pointed(text, what) or spelled


def _pointed(text: str, what: Sent) -> set[str]:
    places = (int(at) for at in _PLACE.findall(text))
    return {what.tools[at] for at in places if at < len(what.tools)}


def _members(message: Json) -> Iterable[str]:
    """What the model said beside its words and its calls."""
    yield from message.keys() - {"role", "content", "tool_calls"}
    for call in dicts(message["tool_calls"]):
        yield from call.keys() - {"id", "type", "function", "custom"}


def _without(traits: Traits, members: set[str]) -> Traits:
    signs = traits.signs and not members & {"extra_content", "*"}
    never = traits.never | members
    return replace(traits, never=never, wants=traits.wants - members, signs=signs)
