"""Feed a target for some seconds with atheris, which looks for inputs that reach new code, or
with hypothesis where atheris is not installed."""

import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Annotated

import typer

NAMES = ("sse", "splice", "guard", "search")
_TOKENS = b'{}[]":,\\ \r\n\t0123456789aeioutrnx./#@-_+\x00\x7f\xff\xef\xbb\xbf'


def main(target: str, seconds: Annotated[int, typer.Argument(min=1)] = 60) -> None:
    """Ends with 0 where nothing was found."""
    if target not in NAMES:
        raise typer.BadParameter(f"one of {', '.join(NAMES)}")
    if find_spec("atheris"):
        _by_coverage(target, seconds)
    else:
        print(f"{target}: {mutate(target, seconds=seconds):,} inputs, nothing found")


def _by_coverage(target: str, seconds: int) -> None:
    import atheris

    with atheris.instrument_imports(include=["app"]):
        from bench.fuzz.targets import SEEDS, TARGETS
    with tempfile.TemporaryDirectory() as corpus:
        for number, seed in enumerate(SEEDS[target]):
            (Path(corpus) / str(number)).write_bytes(seed)
        options = [f"-max_total_time={seconds}", "-max_len=4096", "-print_final_stats=1"]
        atheris.Setup([sys.argv[0], *options, corpus], TARGETS[target])
        atheris.Fuzz()


def mutate(target: str, *, seconds: float = 3_600, most: int = 1_000_000_000, seed: int = 0) -> int:
    """Feed changed seeds; how many. Raises what the target raises."""
    from bench.fuzz.targets import SEEDS, TARGETS

    source = Random(seed or time.time_ns())
    corpus = list(SEEDS[target])
    end = time.monotonic() + seconds
    for count in range(most):
        if time.monotonic() > end:
            return count
        data = bytearray(source.choice(corpus))
        for _ in range(source.randint(1, 8)):
            _change(data, source)
        TARGETS[target](bytes(data))
        if len(corpus) < 200 and source.random() < 0.01:
            corpus.append(bytes(data[:2_000]))
    return most


def _change(data: bytearray, source: Random) -> None:
    at = source.randint(0, len(data))
    match source.randrange(4):
        case 0:
            data[at:at] = bytes([source.choice(_TOKENS)])
        case 1:
            del data[at : at + source.randint(1, 6)]
        case 2:
            data[at : at + 1] = bytes([source.choice(_TOKENS)])
        case _:
            start = source.randint(0, len(data))
            data[at:at] = data[start : start + source.randint(1, 20)]


if __name__ == "__main__":
    typer.run(main)
