"""What is measured: one row each, started for the run and stopped after it."""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench import request
from bench.process import Process, free_port, running

_SBIN = "/usr/local/sbin:/usr/sbin:/sbin"
"""Where nginx is, on systems that keep it off the PATH of ordinary users."""


class NotInstalled(Exception):
    """A peer that this machine does not have: its row is skipped."""


@dataclass(frozen=True)
class Target:
    """A server under load."""

    port: int
    process: Process
    requests: request.Requests = request.known
    streams: bool = True
    decision: bytes = b""
    """What the head of every reply must hold, lest the row measures something else."""


Start = Callable[[int], AbstractContextManager[Target]]
"""Starts a row's server before the upstream on that port."""


@contextmanager
def upstream() -> Iterator[Target]:
    port = free_port()
    with running([sys.executable, "-m", "bench.upstream", str(port)], port=port) as process:
        yield Target(port, process)


@contextmanager
def minimal(upstream_port: int) -> Iterator[Target]:
    port = free_port()
    command = [sys.executable, "-m", "bench.minimal", str(port), _url(upstream_port)]
    with running(command, port=port) as process:
        yield Target(port, process)


def toolfold(mode: str, decision: str, requests: request.Requests) -> Start:
    @contextmanager
    def start(upstream_port: int) -> Iterator[Target]:
        port, admin = free_port(), free_port()
        command = [sys.executable, "-m", "app", "serve", "--mode", mode]
        command += ["--upstream", _url(upstream_port) + "/v1", "--host", "127.0.0.1"]
        command += ["--port", str(port), "--admin-port", str(admin)]
        with running(command, port=admin, path="/readyz") as process:
            marker = f"x-toolfold-decision: {decision}\r\n".encode()
            # Once folded, a stream is a stream: an unknown catalog changes how it begins.
            yield Target(port, process, requests, requests is request.known, marker)

    return start


@contextmanager
def nginx(upstream_port: int) -> Iterator[Target]:
    program = _program("nginx", "nginx")
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "nginx.conf")
        config.write_text(_nginx_config(folder, port, upstream_port))
        with running([program, "-p", folder, "-e", "stderr", "-c", str(config)], port=port) as it:
            yield Target(port, it)


@contextmanager
def litellm(upstream_port: int) -> Iterator[Target]:
    program = _program("LiteLLM's proxy", os.environ.get("TOOLFOLD_BENCH_LITELLM", "litellm"))
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "litellm.yaml")
        config.write_text(_litellm_config(upstream_port))
        command = [program, "--config", str(config), "--host", "127.0.0.1", "--port", str(port)]
        environ = {"LITELLM_MASTER_KEY": request.KEY, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        with running(command, port=port, path="/health/liveliness", environ=environ) as process:
            yield Target(port, process)


PROXIES: dict[str, Start] = {
    "nginx": nginx,
    "minimal": minimal,
    "relayed": toolfold("off", "relayed", request.known),
    "known": toolfold("auto", "folded", request.known),
    "unknown": toolfold("auto", "folded", request.unknown),
    "litellm": litellm,
}


def _program(name: str, path: str) -> str:
    program = shutil.which(path) or shutil.which(path, path=_SBIN)
    if not program:
        raise NotInstalled(f"{name} is not installed")
    return program


def _url(port: int) -> str:
    return f"http://127.0.0.1:{port}"


def _nginx_config(folder: str, port: int, upstream_port: int) -> str:
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    return f"""
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
events {{ worker_connections 256; }}
http {{
    access_log off;
    {" ".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)}
    client_max_body_size 4m;
    client_body_buffer_size 1m;
    keepalive_requests 1000000;
    upstream bench {{
        server 127.0.0.1:{upstream_port};
        keepalive 32;
        keepalive_requests 1000000;
    }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://bench;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_buffering off;
        }}
    }}
}}
"""


def _litellm_config(upstream_port: int) -> str:
    parameters = {"model": "openai/gpt-4o", "api_base": f"{_url(upstream_port)}/v1", "api_key": "-"}
    return json.dumps({"model_list": [{"model_name": "gpt-4o", "litellm_params": parameters}]})
