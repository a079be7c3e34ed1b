"""What is learned of an upstream is kept for each model, for a while."""

from app.core.traits import DEFAULT, Traits
from app.learned import Learned

OTHER = Traits(short_ids=True)


def test_a_lesson_is_the_models_and_ends_with_its_time() -> None:
    now = 0.0
    learned = Learned(DEFAULT, clock=lambda: now)
    learned.learn("a", OTHER)
    assert (learned.of("a"), learned.of("b")) == (OTHER, DEFAULT)
    now = 3_599.0
    assert learned.of("a") == OTHER
    now = 3_601.0
    assert learned.of("a") == DEFAULT


def test_there_is_room_for_many_models_and_not_for_any_number() -> None:
    learned = Learned(DEFAULT, clock=lambda: 0.0)
    for number in range(5_000):
        learned.learn(f"model-{number}", OTHER)
    known = [learned.of(f"model-{number}") is OTHER for number in range(5_000)]
    assert (sum(known), known[-1]) == (1_000, True)


def test_a_model_may_be_anything() -> None:
    learned = Learned(DEFAULT)
    learned.learn(None, OTHER)
    learned.learn({"not": "a name"}, OTHER)
    assert learned.of({"not": "a name"}) == learned.of(None) == OTHER
