"""What the model reads of the tools in a dialect."""

from collections.abc import Sequence

import pytest

from app.core.catalog import compile_catalog
from app.core.choice import Choice
from app.core.dialect.catalog import Spoken, block, script
from app.core.policy import Policy, Strategy
from app.core.shape import compile_shape
from app.core.tools import Tool, parse
from tests.builders import CATALOG, dumps


@pytest.mark.parametrize("dialect", ["json_tag", "pformat"])
@pytest.mark.parametrize("strategy", ["promote", "wrap"])
def test_tools_weigh_what_the_model_reads_of_them(dialect: Spoken, strategy: Strategy) -> None:
    def read(tools: Sequence[Tool]) -> int:
        text = block(dialect, tools, Choice(), parallel=True, shape=None)
        return len(text) - len(tools) + 1  # the line ends between the tools

    policy = Policy(dialect=dialect, strategy=strategy)
    shape = compile_shape(compile_catalog(dumps(CATALOG), len), policy, len, script(dialect))
    ours = [parse(raw, 0) for raw in (shape.bridge, shape.wrapper) if raw]
    assert shape.offered == read(shape.tools)
    assert shape.sent == read([*shape.direct, *ours])
