"""The command `toolfold demo`: can it run here, and did it end well?"""

import sys
from importlib.util import find_spec

from rich.console import Console

_WIDTH = 100


def main() -> int:
    """0 if every answer is right and the goal is met, 1 if not, 2 if the demo cannot run."""
    if find_spec("openai") is None:
        print("The demo needs the OpenAI SDK: pip install 'toolfold[demo]'", file=sys.stderr)
        return 2
    # Imported late: everything from here on needs the SDK, which is an extra.
    import openai

    from app.demo.proxy import NotStarted
    from app.demo.show import show

    try:
        return 0 if show(_console()) else 1
    except openai.OpenAIError as failure:
        print(f"The demo stopped at an error: {failure}", file=sys.stderr)
        return 1
    except NotStarted as failure:
        print(failure, file=sys.stderr)
        return 2


def _console() -> Console:
    console = Console(highlight=False, markup=False)
    # The tables need this much. Rich takes 80 for a pipe, and would cut numbers short.
    console.width = max(console.width, _WIDTH)
    return console
