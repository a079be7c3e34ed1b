"""The page in Chromium, with real traffic behind it. `apt-get install chromium` brings one."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from itertools import product
from typing import Any, Literal

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page, async_playwright

from tests.builders import CATALOG, body, call, reply, search, tool
from tests.replica import Replica, serving
from tests.telemetry.conversations import FOUND_AND_CALLED, QUESTION
from tests.upstream import Scripted

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="`chromium` is not installed")

WIDTHS = (380, 1400)
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
HOSTILE = "<img src=x onerror=alert(1)>\u202e</script><script>alert(2)</script>"


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox"],  # tests run as root in containers
        )
        try:
            yield browser
        finally:
            await browser.close()


@asynccontextmanager
async def shown(
    browser: Browser,
    replica: Replica,
    width: int = 1400,
    scheme: Literal["light", "dark"] = "light",
) -> AsyncIterator[tuple[Page, list[str]]]:
    """The page, once it has drawn what there is, and what it wrote to the console."""
    context = await browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme
    )
    page = await context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    await page.goto(replica.admin)
    await page.wait_for_selector("#state.live")
    yield page, said
    await context.close()


async def numbers(page: Page, where: str) -> list[float]:
    """The numbers below an element, before they are rounded to be read."""
    found: list[float] = await page.eval_on_selector_all(
        f"{where} data", "all => all.map(one => Number(one.value))"
    )
    return found


async def texts(page: Page, where: str) -> list[str]:
    return [text.strip() for text in await page.locator(where).all_text_contents()]


async def stats(replica: Replica) -> Any:
    """What it says once all requests are over: their clients have the last byte before that."""
    async with asyncio.timeout(30):
        while True:
            told = (await replica.client.get(replica.admin + "/stats.json")).json()
            if not told["health"]["in_flight"]:
                return told


def conversations(times: int) -> list[Scripted]:
    """The upstream's side of `converse`."""
    return [*FOUND_AND_CALLED * times, reply("Hello"), 500]


async def converse(replica: Replica, times: int) -> None:
    """Requests that are folded, one without tools, and one that fails."""
    for _ in range(times):
        assert (await replica.post(body(model="gpt-x"))).status_code == 200
    assert (await replica.post(body([]))).status_code == 200
    assert (await replica.post(body([]))).status_code == 500


def rounded(values: Iterable[float]) -> list[float]:
    return [round(value, 6) for value in values]


async def is_true(page: Page, told: Any) -> None:
    """Whatever the page shows is what `stats.json` says."""
    totals = told["totals"]
    for where, name in {
        "#saved": "tokens_saved",
        "#offered": "tokens_offered",
        "#sent": "tokens_sent",
        "#searching": "search_tokens",
        "#requests-sum": "requests",
        "#folded": "folded",
        "#searches-sum": "searches",
        "#errors": "errors",
        "#cached": "cached_tokens",
    }.items():
        assert await numbers(page, where) == [totals[name]], where
    assert await numbers(page, "#in-flight") == [told["health"]["in_flight"]]
    counts = ("requests", "folded", "searches", "errors", "tokens_offered", "tokens_saved")
    sums = [totals[name] for name in counts]
    sums[1] /= totals["requests"]
    share = totals["tokens_saved"] / totals["tokens_offered"]
    assert rounded(await numbers(page, "#tenants")) == rounded([*sums, share])
    decisions = told["decisions"]
    assert await texts(page, "#decisions code >> visible=true") == [
        "toolfold explain",
        *(one["reason"] for one in decisions),
    ]
    all_counted = sum(one["count"] for one in decisions)
    assert rounded(await numbers(page, "#decisions")) == rounded(
        number for one in decisions for number in (one["count"], one["count"] / all_counted)
    )
    searches = told["searches"]
    assert await numbers(page, "#ranks") == [
        count for places in searches["ranks"].values() for count in places.values()
    ]
    assert await texts(page, "#unmatched tbody th") == [
        one["query"] for one in searches["unmatched"]
    ]
    assert await numbers(page, "#unmatched") == [one["count"] for one in searches["unmatched"]]
    found = searches["most_found"]
    assert (await numbers(page, "#found"))[:3] == [
        found[0][key] for key in ("called", "found", "share")
    ]
    assert await numbers(page, "#never-lead") == [searches["never_found"]["count"]]
    assert await numbers(page, "#stretches") == [
        one[key]
        for one in reversed(told["series"])
        for key in ("requests", "tokens_offered", "tokens_sent", "tokens_saved")
    ]
    if await page.locator("#requests ~ .more").is_visible():
        await page.locator("#requests ~ .more").click()
    assert await texts(page, "#requests tbody th code") == [one["id"] for one in told["requests"]]
    assert await texts(page, "#requests .tag") == [one["decision"] for one in told["requests"]]


async def test_it_is_true_and_whole_at_every_width_in_both_schemes() -> None:
    async with chromium() as browser, serving(*conversations(8)) as replica:
        await converse(replica, 8)
        told = await stats(replica)
        assert told["totals"]["folded"] == 8
        backgrounds = set()
        for width, scheme in product(WIDTHS, SCHEMES):
            async with shown(browser, replica, width, scheme) as (page, said):
                await is_true(page, told)
                assert await page.evaluate("document.documentElement.scrollWidth") == width
                paint = "getComputedStyle(document.body).backgroundColor"
                backgrounds.add(await page.evaluate(paint))
                found = await Axe().run(page)
                assert found.violations_count == 0, found.generate_report()
                assert said == [], (width, scheme)
        assert len(backgrounds) == 2


async def test_it_follows_without_reload_and_says_when_it_cannot() -> None:
    async with (
        chromium() as browser,
        serving(*conversations(1)) as replica,
        shown(browser, replica) as (page, said),
    ):
        assert await page.locator("#welcome").is_visible()
        await converse(replica, 1)
        await page.wait_for_selector('#requests-sum data[value="3"]')
        assert not await page.locator("#welcome").is_visible()
        assert said == []
        replica.process.kill()
        await page.wait_for_selector("#state.lost")
        assert await page.locator("#said").inner_text() == (
            "Cannot reach Toolfold; trying again. Last answer:"
        )
        assert await numbers(page, "#requests-sum") == [3]


async def test_it_asks_nothing_while_it_is_hidden_or_paused() -> None:
    async with chromium() as browser, serving(*FOUND_AND_CALLED) as replica:
        page = await browser.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        await page.clock.install()
        await page.goto(replica.admin)
        await page.wait_for_selector("#state.live")
        await page.evaluate(
            "window.hidden = true;"
            "Object.defineProperty(document, 'hidden', {get: () => window.hidden})"
        )
        before = len(asked)
        await page.clock.run_for(60_000)
        assert len(asked) == before
        async with page.expect_response("**/stats.json"):
            await page.evaluate(
                "window.hidden = false; document.dispatchEvent(new Event('visibilitychange'))"
            )
        async with page.expect_response("**/stats.json"):
            await page.clock.run_for(3_000)
        await page.focus("#pause")
        await page.keyboard.press("Enter")
        assert await page.locator("#said").inner_text() == "Paused at"
        before = len(asked)
        await page.clock.run_for(60_000)
        assert len(asked) == before
        async with page.expect_response("**/stats.json"):
            await page.keyboard.press("Enter")
        await page.wait_for_selector("#state.live")


async def test_names_of_strangers_are_text() -> None:
    script = [reply(search("s1", QUESTION, HOSTILE)), reply(call("c1", HOSTILE, {}))]
    tools = [*CATALOG, tool(HOSTILE, QUESTION)]
    async with chromium() as browser, serving(*script, capture=True) as replica:
        await replica.post(body(tools, model=HOSTILE))
        await replica.client.get(replica.url + "/" + HOSTILE.replace("/", ""))
        told = json.dumps(await stats(replica), ensure_ascii=False)
        assert HOSTILE in told
        async with shown(browser, replica) as (page, said):
            visible = HOSTILE.replace("\u202e", "\\u{202e}")
            assert visible in await texts(page, "#requests bdi")
            assert await page.locator("img, script:not(body > script), iframe").count() == 0
            assert await page.locator("script").count() == 1
            assert said == []


async def test_the_browser_itself_refuses_markup_and_other_scripts() -> None:
    """What the policy is for, should the page ever be changed for the worse."""
    tries = """name => {
        try {
            if (name === 'markup') document.body.innerHTML = '<b>x</b>';
            else document.body.append(Object.assign(
                document.createElement('script'), {textContent: 'window.ran = true'}));
        } catch (error) { return error.name; }
        return String(window.ran);
    }"""
    async with (
        chromium() as browser,
        serving(reply("Hello")) as replica,
        shown(browser, replica) as (page, said),
    ):
        assert await page.evaluate(tries, "markup") == "TypeError"
        assert await page.evaluate(tries, "script") in ("TypeError", "undefined")
        assert said


async def test_a_keyboard_gets_everywhere_and_sees_where_it_is() -> None:
    async with chromium() as browser, serving(*conversations(16)) as replica:
        await converse(replica, 16)
        async with shown(browser, replica) as (page, _):
            stops = []
            while True:
                await page.keyboard.press("Tab")
                name, outline = await page.evaluate(
                    "(one => [one.textContent.trim().slice(0, 24),"
                    " getComputedStyle(one).outlineStyle])(document.activeElement)"
                )
                if outline == "none":
                    break
                stops.append(name)
        assert stops == [
            "Skip to the numbers",
            "Pause",
            "The chart as a table",
            "Show all 18",  # tools that were never found
            "Show all 18",  # requests
            "stats.json",
            "metrics",
        ]
