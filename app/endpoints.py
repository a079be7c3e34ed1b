"""What is asked for, read off the request's target."""

from urllib.parse import unquote_to_bytes

from app.core.errors import Denied
from app.http import Scope

_BASE = b"/v1"
_CHAT = b"/chat/completions"
_WITHOUT_TOOLS = frozenset(
    {
        *(b"audio", b"completions", b"embeddings", b"files", b"images", b"models"),
        *(b"moderations", b"rerank", b"score", b"tokenize", b"uploads", b"vector_stores"),
    }
)
"""Endpoints, by the first part of their path, whose requests can hold no tools."""
_KEYS = frozenset({b"key", b"api_key", b"api-key", b"apikey", b"token", b"access_token"})
"""Query parameters in which some upstreams take a key."""


def below_base(scope: Scope) -> bytes | None:
    """The path below the base URL with its query, as the client wrote it; None where it
    is not below it, or tries to climb out."""
    path: bytes = scope["raw_path"]
    below = path.removeprefix(_BASE)
    segments = unquote_to_bytes(path).replace(b"\\", b"/").split(b"/")
    if below == path or not below.startswith(b"/") or b".." in segments or b"." in segments:
        return None
    query: bytes = scope["query_string"]
    return below + (b"?" + query if query else b"")


def is_chat(method: str, target: bytes) -> bool:
    """Whether this is a request that may be folded."""
    return method == "POST" and target.partition(b"?")[0].endswith(_CHAT)


def check_hiding(method: str, target: bytes) -> None:
    """Raises Denied for an endpoint that may take tools. For a policy that hides some: only in
    chat completions can they be held back."""
    first = target.partition(b"?")[0].split(b"/")[1]
    if method not in ("GET", "HEAD", "DELETE") and first not in _WITHOUT_TOOLS:
        raise Denied(
            "The policy hides tools, which only `/v1/chat/completions` can do: send the request "
            "there, or ask the operator for a policy that hides none."
        )


def without_keys(target: bytes) -> bytes:
    """The target less the client's own keys."""
    path, mark, query = target.partition(b"?")
    kept = [
        part
        for part in query.split(b"&")
        if unquote_to_bytes(part.partition(b"=")[0]).lower() not in _KEYS
    ]
    return path + mark + b"&".join(kept) if kept else path
