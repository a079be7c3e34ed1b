"""What is known of an upstream, as data: one profile a line, and the host that says which.

Upstreams contradict each other, so no fixed rule serves them all. Traits shape what we build
ourselves (the bridge, the manifest's place, our exchanges), never the client's own bytes.
What a profile does not know is learned from a refusal (`remedy`).
"""

import re
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

from app.core.codec import Json

UpstreamProfile = Literal[
    "openai",
    "azure",
    "openrouter",
    "vllm",
    "sglang",
    "llamacpp",
    "ollama",
    "groq",
    "mistral",
    "deepseek",
    "gemini",
    "anthropic-compat",
    "default",
]

_SIGNATURE = "extra_content"
_UNSIGNED: Json = {"google": {"thought_signature": "skip_thought_signature_validator"}}
"""What Google takes in place of a signature: https://ai.google.dev/gemini-api/docs/thought-signatures"""
_SHORT_ID = re.compile(r"[a-zA-Z0-9]{9}")
_PLAIN_NAME = r"[a-zA-Z0-9_-]{1,64}"
"""https://platform.openai.com/docs/api-reference/chat/create: `tools[].function.name`."""
_LISTS = ("reasoning_details", "thinking_blocks")


@dataclass(frozen=True, slots=True)
class Traits:
    """What an upstream takes. The default is what nearly all of them take."""

    bridge: str = "tool_search"
    """What the search tool is called, and ..."""
    wrapper: str = "call_tool"
    """... the tool that calls others."""
    manifest: Literal["bridge", "system"] = "bridge"
    """Where the manifest stands; without a system message the bridge says only its length."""
    names: str | None = None
    """The pattern of names that a tool may be declared under."""
    most_tools: int | None = None
    """Tools in a request, where that is fewer than the policy allows."""
    content: Literal[""] | None = ""
    """The content of an assistant message of ours that says nothing."""
    never: frozenset[str] = frozenset()
    """Members of an assistant message or a call that are not echoed; `*`: none is."""
    wants: frozenset[str] = frozenset()
    """Members that an assistant message of ours has to have, empty where the model said none;
    these are echoed whatever `never` says."""
    signs: bool = False
    """The first call of a message has to be signed."""
    short_ids: bool = False
    """The id of a call is nine letters and digits."""
    names_results: bool = False
    """A tool's result has to name the tool."""
    takes_none: bool = True
    """`tool_choice` may be `none`."""
    defers: bool = False
    """Takes `defer_loading` with a tool and keeps it from the model (strategy `native`), and ..."""
    references: bool = False
    """... loads it when a result refers to it."""

    def takes(self, name: str) -> bool:
        """Whether a tool of this name may be declared."""
        return self.names is None or re.fullmatch(self.names, name) is not None

    def message(self, said: Json) -> Json:
        """An assistant message of ours, but for role and calls."""
        kept = {k: v for k, v in said.items() if k == "content" or self._echoes(k)}
        wanted = {k: [] if k in _LISTS else "" for k in sorted(self.wants) if k not in kept}
        return {**kept, "content": said.get("content") or self.content, **wanted}

    def call(self, call: Json, *, first: bool) -> Json:
        """A call that goes into such a message. `first`: nothing stands before it."""
        plain = ("id", "type", "function", "custom")
        kept = {k: v for k, v in call.items() if k in plain or self._echoes(k)}
        unsigned = {_SIGNATURE: _UNSIGNED} if self.signs and first else {}
        return {**unsigned, **kept, "id": self.id(call["id"])}

    def id(self, given: str) -> str:
        """The id of a call of ours: the same for the same one."""
        if not self.short_ids or _SHORT_ID.fullmatch(given):
            return given
        return sha256(given.encode("utf-8", "surrogatepass")).hexdigest()[:9]

    def _echoes(self, member: str) -> bool:
        return member in self.wants or not self.never & {"*", member}


DEFAULT = Traits()
PROFILES: dict[UpstreamProfile, Traits] = {
    "default": DEFAULT,
    "openai": Traits(names=_PLAIN_NAME),
    "azure": Traits(names=_PLAIN_NAME),
    # https://openrouter.ai/docs/use-cases/reasoning-tokens: all that is thought is echoed.
    "openrouter": Traits(),
    # https://github.com/vllm-project/vllm/pull/40190
    "vllm": Traits(defers=True, references=True),
    # https://github.com/sgl-project/sglang/pull/22702: hidden while marked, no references.
    "sglang": Traits(defers=True),
    "llamacpp": Traits(),
    "ollama": Traits(),
    # Q033, https://github.com/BerriAI/litellm/issues/30835: other members are refused.
    "groq": Traits(never=frozenset({"*"})),
    # The same, and https://github.com/anomalyco/opencode/issues/1680: ids of nine characters.
    "mistral": Traits(never=frozenset({"*"}), short_ids=True),
    # Q028: whether reasoning has to come back changes with the model; echoed, and learned.
    "deepseek": Traits(),
    # Q029, Q030; an unsigned call and a nameless result are a 400.
    "gemini": Traits(signs=True, names_results=True),
    # "text content blocks must be non-empty"; unknown members are ignored by some, so learned.
    "anthropic-compat": Traits(content=None, names=_PLAIN_NAME),
}
"""Only what is known and changes something: the rest is the default."""

_HOSTS: tuple[tuple[str, UpstreamProfile], ...] = (
    ("api.openai.com", "openai"),
    ("openai.azure.com", "azure"),
    ("cognitiveservices.azure.com", "azure"),
    ("openrouter.ai", "openrouter"),
    ("api.groq.com", "groq"),
    ("api.mistral.ai", "mistral"),
    ("api.deepseek.com", "deepseek"),
    ("generativelanguage.googleapis.com", "gemini"),
    ("aiplatform.googleapis.com", "gemini"),
    ("api.anthropic.com", "anthropic-compat"),
)


def profile_of(host: str) -> UpstreamProfile:
    """The profile of an upstream's host; `default` for one that is not known."""
    host = host.lower().rstrip(".")
    return next(
        (p for known, p in _HOSTS if host == known or host.endswith((f".{known}", f"-{known}"))),
        "default",
    )
