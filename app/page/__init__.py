"""The page of the admin port: one file that loads nothing but `stats.json`, and only looks."""

import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

_FILE = Path(__file__).parent / "index.html"


def load_page() -> tuple[str, dict[str, str]]:
    """The page, and the headers to send with it: its own script and style run and no other, it
    asks nobody but this port, it cannot be framed, and no text becomes markup."""
    page = _FILE.read_text("utf-8")
    policy = (
        "default-src 'none'",
        f"script-src {_hashes('script', page)}",
        f"style-src {_hashes('style', page)}",
        "connect-src 'self'",
        "img-src data:",  # its icon
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
    return page, {
        "content-security-policy": "; ".join(policy),
        "cache-control": "no-store",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
    }


def _hashes(tag: str, page: str) -> str:
    """Whatever stands between these tags, as https://www.w3.org/TR/CSP3/#source-list says it."""
    texts = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
    return " ".join(f"'sha256-{b64encode(sha256(t.encode()).digest()).decode()}'" for t in texts)
