"""A directory of client scripts, run unchanged.

The directory has `upstream.py` (a strict upstream that calls tools), `run_all.sh` (which runs the
clients in the environments that `install.sh` made, each with a time limit, and writes
`results.tsv`: client, scenario, PASS or FAIL or SKIP, seconds, why) and `results/eager.tsv`, what
passes with no proxy at all.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from bench.process import Process, running

Results = dict[tuple[str, str], tuple[str, str]]
"""By client and scenario: the verdict, and why."""

_OURS = ("PROBES", "ONLY", "BASELINE")
"""Variables of `run_all.sh` that would make a run differ from the one it is compared with."""


@dataclass(frozen=True)
class Outcome:
    """One scenario of one client, and why it did not pass."""

    client: str
    scenario: str
    failure: str = ""


def upstream(folder: Path, port: int, *flags: str) -> AbstractContextManager[Process]:
    """The strict upstream of the directory."""
    command = [sys.executable, "-B", str(folder / "upstream.py"), "--port", str(port), *flags]
    return running(command, port=port, path="/health")


def toolfold(
    port: int, admin: int, behind: int, *flags: str, environ: Mapping[str, str] | None = None
) -> AbstractContextManager[Process]:
    """`toolfold serve` in front of what listens on the port `behind`."""
    command = [sys.executable, "-m", "app", "serve", "--port", str(port)]
    command += ["--admin-port", str(admin), "--upstream", f"http://127.0.0.1:{behind}/v1", *flags]
    return running(command, port=admin, path="/readyz", environ=environ)


def run(
    folder: Path, port: int, model: int, clients: Sequence[str] = (), *, probes: bool = False
) -> Results:
    """The clients (all, where none is named) against a port, with the strict upstream on the port
    `model` behind it. `probes`: odd streams and retries instead of the scenarios."""
    environ = {name: text for name, text in os.environ.items() if name not in _OURS}
    environ |= {"UPSTREAM_URL": f"http://127.0.0.1:{model}"} | ({"PROBES": "1"} if probes else {})
    with tempfile.TemporaryDirectory() as out:
        subprocess.run(
            ["bash", str(folder / "run_all.sh"), f"http://127.0.0.1:{port}/v1", *clients],
            env=environ | {"OUT": out},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            check=False,  # it says 1 where a scenario failed
        )
        return results(Path(out, "results.tsv"))


def eager(folder: Path, clients: Sequence[str] = ()) -> Results:
    """What the clients do with no proxy, as the directory has it."""
    known = results(folder / "results" / "eager.tsv")
    return {key: result for key, result in known.items() if not clients or key[0] in clients}


def compared(found: Results, before: Results) -> Iterator[Outcome]:
    """What passed and what is lost. What failed before too is not held against this run; what
    passed before and was not even run is lost."""
    for client, scenario in {**before, **found}:
        verdict, why = found.get((client, scenario), ("NOT RUN", ""))
        once = before.get((client, scenario), ("", ""))[0]
        if verdict == "PASS":
            yield Outcome(client, scenario)
        elif once == "PASS" or (once != "FAIL" and verdict not in ("SKIP", "NOT RUN")):
            yield Outcome(client, scenario, f"{verdict} {why}".rstrip())


def results(path: Path) -> Results:
    """Read a `results.tsv`."""
    lines = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
    return {(line[0], line[1]): (line[2], (line[4:] or [""])[0]) for line in lines}
