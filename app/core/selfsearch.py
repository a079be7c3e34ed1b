"""Other ways of deferring tools that a client may speak.

Marks, hosted searches and namespaces are read and consumed (`tools`). A client that searches
by itself is left alone: two searches over one set of tools would hide it from both.
"""

import re
from fnmatch import fnmatchcase

from app.core.ranking.lexical import key
from app.core.tools import Tool

_LOADED = re.compile(
    rb'"type"\s*:\s*"(?:tool_reference|tool_search_(?:call|output|tool_result)'
    rb'|tool_search_tool_search_result)"'
)
"""What a search of the client's or a provider's leaves in the messages. The quotes of a text
would be escaped, so these bytes are never a user's words."""
_SEARCHES = ("toolsearch*", "searchtools*", "searchfortools", "findtools", "loadtools")
_OF_TOOLS = re.compile(r"\btools?\b|\bfunctions?\b", re.IGNORECASE)


def is_search(tool: Tool) -> bool:
    """Whether this is a client's own search for tools: by its name, and by a description that
    is about tools, since `tool_search` may search a shop's drills."""
    spelled = key(tool.name)
    named = any(fnmatchcase(spelled, pattern) for pattern in _SEARCHES)
    return tool.type == "function" and named and _OF_TOOLS.search(tool.description) is not None


def has_loaded(messages: bytes) -> bool:
    """Whether the messages refer to tools that a search has loaded."""
    return b"tool_" in messages and _LOADED.search(messages) is not None
