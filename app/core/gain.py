"""Does folding pay?"""

from typing import NamedTuple

from app.core.policy import Policy
from app.core.shape import Shape


class Gain(NamedTuple):
    """Whether to fold, and the reason, one word."""

    folds: bool
    reason: str


def gain(policy: Policy, shape: Shape) -> Gain:
    """What is to be done with a request of this shape that can be folded."""
    if not shape.deferred:
        return _nothing_to_defer(policy, shape)
    if shape.opted_in:
        return Gain(True, "client-defers")
    if policy.mode == "on":
        return Gain(True, "mode-on")
    if shape.catalog.count > policy.max_tools:
        return Gain(True, "too-many-tools")
    if shape.hides:
        return Gain(True, "policy-hides")
    if shape.deferrable < policy.min_tokens:
        return Gain(False, "few-tokens")
    if shape.sent > (1 - policy.min_saving) * shape.offered:
        return Gain(False, "small-saving")
    return Gain(True, "saves-tokens")


def _nothing_to_defer(policy: Policy, shape: Shape) -> Gain:
    """Tools may still have to go: hidden ones, and a hosted search that has a name."""
    if shape.hides:
        return Gain(True, "policy-hides")
    if policy.mode == "off":
        return Gain(False, "mode-off")
    if "hidden" in shape.names.values():
        return Gain(True, "client-defers")
    return Gain(False, "nothing-to-defer")
