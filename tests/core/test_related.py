from importlib.resources import files

import pytest

from app.core import ranking
from app.core.ranking.related import related
from app.core.ranking.words import stem

SAID = {
    "each way": ("remove", "delete"),
    "each way, back": ("delete", "remove"),
    "one way": ("umbrella", "weather"),
    "another language": ("wetter", "weather"),
    "another script": ("天气", "weather"),
    "by the thesaurus": ("museum", "exhibit"),
}


@pytest.mark.parametrize(("said", "meant"), SAID.values(), ids=SAID)
def test_other_words(said: str, meant: str) -> None:
    assert 0 < related(stem(said))[stem(meant)] < 1


def test_one_way_is_one_way() -> None:
    assert "umbrella" not in related("weather")


def test_a_word_that_nobody_knows_has_no_other() -> None:
    assert not related("xyzzy")


@pytest.mark.parametrize("name", ["synonyms.txt", "thesaurus.txt"])
def test_no_word_is_its_own_other(name: str) -> None:
    text = files(ranking).joinpath(name).read_text("utf-8")
    said = {stem(line.split()[0]) for line in text.splitlines() if line and line[0] != "#"}
    assert len(said) > 100
    assert not [word for word in said if word in related(word)]
