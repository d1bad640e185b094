"""Tests the guide for receivers: its code verifies the service's signatures."""

import hashlib
import hmac
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from streams.webhooks.delivery.signing import signature_headers
from tests.languages import is_present

pytestmark = pytest.mark.integration

GUIDE = Path(__file__).resolve().parents[4] / "docs" / "webhooks.md"
SECRET = "whsec_dGhlIHNlY3JldCBvZiB0aGUgdGVzdHM="
BODY = '{"plate": "AB1", "camera": "Tür"}'.encode()


def _code(language: str) -> str:
    found = re.findall(rf"```{language}\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.S)
    assert len(found) == 1, language
    return str(found[0])


def _python(folder: Path, call: tuple[str, str, str]) -> list[str]:
    secret, signature, header = call
    tail = (
        "\nimport pathlib, sys\n"
        f"ok = verify({secret!r}, pathlib.Path('body').read_bytes(), {{{header!r}: {signature!r}}})"
        "\nsys.exit(0 if ok else 1)\n"
    )
    (folder / "guide.py").write_text(_code("python") + tail)
    return [sys.executable, "guide.py"]


def _node(folder: Path, call: tuple[str, str, str]) -> list[str]:
    secret, signature, header = call
    tail = (
        f'\nconst ok = verify("{secret}", require("fs").readFileSync("body"), '
        f'{{"{header}": "{signature}"}});\nprocess.exit(ok ? 0 : 1);\n'
    )
    (folder / "guide.js").write_text(_code("javascript") + tail)
    return ["node", "guide.js"]


def _go(folder: Path, call: tuple[str, str, str]) -> list[str]:
    secret, signature, header = call
    (folder / "guide.go").write_text(_code("go"))
    (folder / "main.go").write_text(
        'package main\nimport ("os"; "strings")\nfunc main() {\n'
        'body, _ := os.ReadFile("body")\n'
        "header := func(name string) string {\n"
        f'if strings.ToLower(name) == "{header}" {{ return "{signature}" }}\nreturn ""\n}}\n'
        f'if !verify("{secret}", body, header) {{ os.Exit(1) }}\n}}\n'
    )
    return ["go", "run", "guide.go", "main.go"]


def _php(folder: Path, call: tuple[str, str, str]) -> list[str]:
    secret, signature, header = call
    tail = (
        f"\nexit(verify('{secret}', file_get_contents('body'), "
        f"['{header}' => '{signature}']) ? 0 : 1);\n"
    )
    (folder / "guide.php").write_text(_code("php") + tail)
    return ["php", "guide.php"]


Runner = Callable[[Path, tuple[str, str, str]], list[str]]
RUNNERS: dict[str, Runner] = {"python": _python, "javascript": _node, "go": _go, "php": _php}
# The end of the test run reports the languages that the machine lacks.
PRESENT = [name for name in RUNNERS if is_present(name)]


@pytest.mark.parametrize("language", PRESENT)
def test_the_guides_code_distinguishes_true_from_false_signatures(
    language: str, tmp_path: Path
) -> None:
    (tmp_path / "body").write_bytes(BODY)
    headers = signature_headers(
        BODY, message_id="m", timestamp_seconds=1, secrets=["the next secret", SECRET]
    )
    forged = hmac.new(b"another secret", BODY, hashlib.sha256).hexdigest()
    previous = headers["X-Signature-256-Previous"]
    cases = [
        ((SECRET, previous, "x-signature-256-previous"), 0),
        ((SECRET, previous, "x-signature-256"), 0),
        ((SECRET, forged, "x-signature-256"), 1),
        ((SECRET, "", "x-signature-256"), 1),
    ]
    for call, wanted in cases if language != "go" else cases[::2]:
        command = RUNNERS[language](tmp_path, call)
        assert subprocess.run(command, cwd=tmp_path, timeout=60).returncode == wanted, call
