"""The page as it is sent: its policy, what it takes from `stats.json`, and where it is not."""

import json
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser

import httpx2
import pytest

from app.admin import create_admin
from app.core.codec import encode
from app.page import load_page
from app.telemetry.recent import Recent
from tests.conftest import start_proxy
from tests.telemetry.conversations import FOUND_AND_CALLED, ask, ended, stats
from tests.telemetry.test_recent import report

PAGE, HEADERS = load_page()
POLICY = dict(
    directive.partition(" ")[::2] for directive in HEADERS["content-security-policy"].split("; ")
)
SCRIPT = PAGE.partition("<script>")[2]


class Elements(HTMLParser):
    """Tags with their attributes, and the text within scripts and styles."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {"script": [], "style": []}
        self.feed(PAGE)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.cdata_elem:
            self.texts[self.cdata_elem].append(data)


ELEMENTS = Elements()


async def test_the_admin_port_serves_it_and_the_data_port_does_not() -> None:
    async with start_proxy(*FOUND_AND_CALLED) as proxy:
        transport = httpx2.ASGITransport(app=create_admin(lambda: True, proxy.telemetry))
        async with httpx2.AsyncClient(transport=transport, base_url="http://admin") as admin:
            shown = await admin.get("/")
            written = await admin.post("/", content=b"{}")
        assert (shown.status_code, shown.text) == (200, PAGE)
        assert shown.headers["content-type"] == "text/html; charset=utf-8"
        assert shown.headers.items() >= HEADERS.items()
        assert written.status_code == 405
        root = proxy.url.removesuffix("/v1")
        for path in ("/", "/index.html", "/ui"):
            assert (await proxy.client.get(root + path)).status_code == 404


@pytest.mark.parametrize("kind", ["script", "style"])
def test_only_what_stands_in_it_runs(kind: str) -> None:
    digests = [sha256(text.encode()).digest() for text in ELEMENTS.texts[kind]]
    said = " ".join(f"'sha256-{b64encode(digest).decode()}'" for digest in digests)
    assert (POLICY[f"{kind}-src"], len(digests)) == (said, 1)


def test_its_policy_forbids_the_rest() -> None:
    assert {name: value for name, value in POLICY.items() if "sha256" not in value} == {
        "default-src": "'none'",
        "connect-src": "'self'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cache-control", "no-store"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("referrer-policy", "no-referrer"),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
    ],
)
def test_its_other_headers(name: str, value: str) -> None:
    assert HEADERS[name] == value


def test_it_needs_nothing_from_elsewhere() -> None:
    """What it points to is on the same port, and relative: a proxy may put it below a path."""
    pointed = {
        value
        for _, attributes in ELEMENTS.tags
        for name, value in attributes.items()
        if name in ("src", "href", "action", "data", "poster", "srcset")
    }
    assert {value for value in pointed if not str(value).startswith("data:image/svg+xml,")} == {
        "#main",
        "stats.json",
        "metrics",
    }
    assert re.findall(r"fetch\((.*?)[,)]", SCRIPT) == ['"stats.json"']
    assert "@import" not in PAGE
    assert "url(" not in PAGE


def test_text_never_becomes_markup() -> None:
    for way in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "srcdoc",
    ):
        assert way not in SCRIPT
    for _, attributes in ELEMENTS.tags:
        assert not [name for name in attributes if name == "style" or name.startswith("on")]


def test_every_table_says_what_it_is() -> None:
    kinds = [tag for tag, _ in ELEMENTS.tags]
    assert kinds.count("table") == kinds.count("caption") == 7
    assert all(attributes.get("scope") == "col" for tag, attributes in ELEMENTS.tags if tag == "th")
    assert {"header", "main", "footer", "noscript", "h1"} <= set(kinds)


async def test_what_it_reads_is_in_the_numbers() -> None:
    """Every member that the script takes apart by name is said by `Recent`."""
    async with start_proxy(*FOUND_AND_CALLED) as proxy:
        await ask(proxy)
        shown = json.loads(encode(await stats(proxy)))
        await ended(proxy)
    [taken] = re.findall(r"const \{(.*?)\} = stats;", SCRIPT)
    assert set(taken.split(", ")) == set(shown)
    for row, members in (("one", shown["requests"][0]), ("totals", shown["totals"])):
        names = set(re.findall(rf"\b{row}\.(\w+)", SCRIPT))
        assert names
        assert names <= set(members)
    assert set(re.findall(r"\bsearches\.(\w+)", SCRIPT)) <= set(shown["searches"])
    [notices] = re.findall(r"const NOTICES = \{(.*?)\n\};", SCRIPT, re.DOTALL)
    states = {*shown["health"], *shown["health"]["alarms"]} - {"in_flight", "alarms"}
    assert set(re.findall(r"^  (\w+):", notices, re.MULTILINE)) == states


def test_decisions_are_counted_by_reason_most_first() -> None:
    recent = Recent()
    for reason in ("no-tools", "mode-off", "no-tools"):
        recent.tell(report(reason=reason))
    assert recent.as_json({})["decisions"] == [
        {"decision": "relayed", "reason": "no-tools", "count": 2},
        {"decision": "relayed", "reason": "mode-off", "count": 1},
    ]


def test_reasons_are_bounded() -> None:
    recent = Recent()
    for number in range(100):
        recent.tell(report(reason=f"r{number}"))
    decisions = recent.as_json({})["decisions"]
    assert len(decisions) == 49
    assert decisions[0] == {"decision": "relayed", "reason": "other", "count": 52}
