import pytest

from app.core.ranking.words import LINKING_WORDS, STOP_WORDS, stem, words

SPLIT = {
    "snake": ("git_diff_staged", ["git", "diff", "stage"]),
    "camel": ("createPullRequest", ["creat", "pull", "request"]),
    "capitals": ("listHTTPRoutes", ["list", "http", "rout"]),
    "kebab and dots": ("k8s.get-pod", ["k", "8s", "get", "pod"]),
    "digits": ("listCoreV1Pods", ["list", "core", "v", "1", "pod"]),
    "accents": ("Müller café", ["muller", "cafe"]),
    "full width": ("ＡＢＣ１", ["abc", "1"]),  # noqa: RUF001
    "Chinese": ("天气预报", ["天", "气", "预", "报", "天气", "气预", "预报"]),
    "nothing": ("_-. \u200b", []),
}


@pytest.mark.parametrize(("text", "found"), SPLIT.values(), ids=SPLIT)
def test_a_text_becomes_words(text: str, found: list[str]) -> None:
    assert words(text) == found


def test_an_identifier_is_kept_whole_too() -> None:
    assert words("GitHub", joins=True) == ["git", "hub", "github"]


def test_dropped_words_are_dropped() -> None:
    assert words("can you please refund the payment", STOP_WORDS) == ["refund", "payment"]
    assert words("a list of users", LINKING_WORDS) == ["list", "user"]


@pytest.mark.parametrize(("one", "other"), [("pods", "pod"), ("scheduling", "schedule")])
def test_forms_of_a_word_are_one(one: str, other: str) -> None:
    assert stem(one) == stem(other)
