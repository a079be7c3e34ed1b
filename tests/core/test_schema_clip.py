import pytest

from app.core.schema.clip import clip, clipped

FLAG, FAMILY = "\U0001f1e9\U0001f1ea", "\U0001f468\u200d\U0001f469\u200d\U0001f467"
CUTS = {
    "what fits": ("Short.", 6, "Short."),
    "a word": ("abcdefgh", 7, "abcd…"),
    "no space before the ellipsis": ("abc defgh", 7, "abc…"),
    "a character of three bytes": ("日本語の説明", 10, "日本…"),
    "a letter and its accent": ("abe\u0301xyz", 7, "ab…"),
    "a joined emoji": ("a" + FAMILY + "b" * 9, 16, "a…"),
    "a skin tone": ("ab\U0001f44d\U0001f3fdcdef", 9, "ab…"),
    "half a flag": ("a" + FLAG + "bcdef", 9, "a…"),
    "a whole flag": ("a" + FLAG + "bcdefgh", 12, "a" + FLAG + "…"),
    "a lone surrogate": ("ab\ud83dcdefgh", 9, "ab\ud83dc…"),
    "no room": ("abcdef", 3, "…"),
}


@pytest.mark.parametrize(("text", "most", "says"), CUTS.values(), ids=CUTS)
def test_a_text_is_cut_between_characters(text: str, most: int, says: str) -> None:
    assert clip(text, most) == says
    assert len(says.encode("utf-8", "surrogatepass")) <= max(most, 3)


def test_descriptions_are_clipped_and_arguments_called_description_are_not() -> None:
    long = "x" * 50
    inner = {"type": "string", "description": long, "default": {"description": long}}
    schema = {"description": long, "properties": {"description": inner}}
    cut = "x" * 7 + "…"
    assert clipped(schema, 10) == {
        "description": cut,
        "properties": {"description": {**inner, "description": cut}},
    }
