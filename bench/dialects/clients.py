"""A directory of client scripts, run unchanged over an upstream that only writes text.

The directory has `upstream.py` (a strict upstream that calls tools), `run_all.sh` (which writes
`results.tsv`: client, scenario, PASS or FAIL or SKIP, seconds, why) and `results/eager.tsv`,
what passes with no proxy at all.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from app.demo.loopback import free_ports
from bench.dialects.scenarios import DIALECTS, Outcome
from bench.process import running

CLIENTS = ("openai_py", "openai_py_edge", "openai_node", "pydantic_ai_py")
_SECONDS = 900
_LIFTED = ("--max-tools", "0", "--desc-max", "0")
"""A text has no limit of tools: where nothing is folded, the model behind it may not have one."""
_WAYS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "folded": (("--mode", "auto"), ()),
    "unfolded": (("--mode", "off"), _LIFTED),
}


def outcomes(folder: Path) -> Iterator[Outcome]:
    """Run the clients in every dialect, folded and not. What fails without a proxy too is
    not held against it."""
    eager = _results(folder / "results" / "eager.tsv")
    for dialect in DIALECTS:
        for way, (flags, limits) in _WAYS.items():
            for (client, scenario), (verdict, why) in _run(folder, dialect, flags, limits).items():
                failed = verdict not in ("PASS", "SKIP")
                if verdict == "SKIP" or (failed and eager.get((client, scenario), "")[0] == "FAIL"):
                    continue
                name = f"{dialect}, {way}: {client} {scenario}"
                yield Outcome(name, f"{verdict} {why}" if failed else "")


def _run(
    folder: Path, dialect: str, flags: tuple[str, ...], limits: tuple[str, ...]
) -> dict[tuple[str, str], tuple[str, str]]:
    model, text_only, port, admin = free_ports(4)
    url = f"http://127.0.0.1:{port}/v1"
    upstream = [sys.executable, "-B", str(folder / "upstream.py"), "--port", str(model), *limits]
    adapter = [sys.executable, "-m", "bench.dialects.textonly", str(text_only)]
    adapter += [f"http://127.0.0.1:{model}/v1", dialect]
    proxy = [sys.executable, "-m", "app", "serve", "--port", str(port)]
    proxy += ["--admin-port", str(admin), "--upstream", f"http://127.0.0.1:{text_only}/v1"]
    proxy += ["--dialect", dialect, *flags]
    with (
        tempfile.TemporaryDirectory() as out,
        running(upstream, port=model, path="/health"),
        running(adapter, port=text_only, path="/v1/models"),
        running(proxy, port=admin, path="/readyz"),
    ):
        environ = {**os.environ, "OUT": out, "UPSTREAM_URL": f"http://127.0.0.1:{model}"}
        subprocess.run(
            ["bash", str(folder / "run_all.sh"), url, *CLIENTS],
            env=environ,
            stdout=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=False,
        )
        return _results(Path(out, "results.tsv"))


def _results(path: Path) -> dict[tuple[str, str], tuple[str, str]]:
    lines = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
    return {(line[0], line[1]): (line[2], (line[4:] or [""])[0]) for line in lines}
