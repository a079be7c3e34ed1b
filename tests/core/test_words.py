import pytest

from app.core.ranking.words import LINKING_WORDS, STOP_WORDS, stem, words

SPLIT = {
    "snake": ("git_diff_staged", ["git", "diff", "stage"]),
    "camel": ("createPullRequest", ["creat", "pull", "request"]),
    "capitals": ("listHTTPRoutes", ["list", "http", "rout"]),
    "kebab and dots": ("k8s.get-pod", ["k8s", "8", "get", "pod"]),
    "digits": ("listCoreV1Pods", ["list", "core", "v1", "1", "pod"]),
    "letters and digits": ("base64", ["base64", "base", "64"]),
    "a number": ("404", ["404"]),
    "capitals of any kind": ("Create API ids iDs", ["creat", "api", "id", "i", "ds"]),
    "accents": ("Müller café", ["muller", "cafe"]),
    "full width": ("ＡＢＣ１", ["abc1", "abc", "1"]),  # noqa: RUF001
    "Chinese": ("天气预报", ["天", "气", "预", "报", "天气", "气预", "预报"]),
    "Chinese and English": ("查询PDF", ["查", "询", "查询", "pdf"]),
    "Cyrillic": ("ИСКАТЬ Дом", ["искать", "дом"]),
    "Arabic": ("ابحث عن", ["ابحث", "عن"]),
    "nothing": ("_-. \u200b", []),
}


@pytest.mark.parametrize(("text", "found"), SPLIT.values(), ids=SPLIT)
def test_a_text_becomes_words(text: str, found: list[str]) -> None:
    assert words(text) == found


JOINED = {
    "GitHub": ["git", "hub", "github"],
    "MySQL": ["my", "sql", "mysql"],
    "listNamespacedPod": ["list", "namespac", "pod", "listnamespacedpod"],
    "aNameOfFiveParts": ["a", "name", "of", "five", "part"],
    "github": ["github"],
}


@pytest.mark.parametrize("text", JOINED)
def test_an_identifier_is_kept_whole_too_unless_it_is_long(text: str) -> None:
    assert words(text, joins=True) == JOINED[text]


def test_dropped_words_are_dropped() -> None:
    assert words("can you please refund the payment", STOP_WORDS) == ["refund", "payment"]
    assert words("a list of users", LINKING_WORDS) == ["list", "user"]


@pytest.mark.parametrize("word", ["create", "list", "find", "order", "open", "run", "not_a_word"])
def test_words_that_tools_are_named_after_are_no_stop_words(word: str) -> None:
    assert word not in STOP_WORDS


@pytest.mark.parametrize(("one", "other"), [("pods", "pod"), ("scheduling", "schedule")])
def test_forms_of_a_word_are_one(one: str, other: str) -> None:
    assert stem(one) == stem(other)


@pytest.mark.parametrize("letter", ["a", "ä"])  # read in two ways
def test_of_a_word_without_end_the_beginning_is_read(letter: str) -> None:
    (word,) = words(f"{letter * 1_000}")
    assert word == "a" * 64
    assert words(f"{letter * 1_000} end")[-1] == "end"


def test_a_text_is_read_to_twice_its_length_however_far_its_letters_unfold() -> None:
    unfolds = "\N{ARABIC LIGATURE SALLALLAHOU ALAYHE WASALLAM}"
    assert sum(map(len, words(unfolds * 100))) <= 200


@pytest.mark.parametrize(("text", "found"), [("pod list", ["pod"]), ("天气", ["天"]), ("", [])])
def test_no_more_words_are_read_than_are_asked_for(text: str, found: list[str]) -> None:
    assert words(text, most=1) == found
