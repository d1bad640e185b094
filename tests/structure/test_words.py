"""Words to avoid. To list uses: ``python -m tests.structure.test_words PATH …``."""

import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]

WORDS: Final = re.compile(
    r"\b(told|tells?|kept|nobody|somebody|whom|beside|anew|nought|gone by|goes? by|heed\w*"
    r"|tend(?:s|ed|ing)?|(?:by|of) (?:itself|themselves)|of (?:its|their) own|(?:is|are) let"
    r"|behind(?! (?:\w+ ){0,3}(?:proxy|proxies|PgBouncer|pooler|load balancer|NAT)\b)|away|stands"
    r"|stand still|so many|so long|what came of|came to|became of|sureness|pictures?|e-mails?"
    r"|log-ins?|switched (?:on|off)|fires|fired|made-up|given up|taken back|put right|as ever"
    r"|it is no(?! longer))\b",
    re.IGNORECASE,
)
"""Words to avoid. docs/glossary.md has a plain word for each."""

GROUPS: Final[Mapping[str, tuple[tuple[str, ...], int]]] = {
    "service": (
        ("api", "analytics_sql", "common", "ingest", "recognition", "streams", "deploy"),
        10,
    ),
    "docs": (("docs", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"), 1),
    "tests and tools": (
        ("tests", "tools", "clients", "Makefile", ".github", "pyproject.toml"),
        6,
    ),
}
"""Folders and files of each group, and the group's maximum number of lines in ``ALLOWED``."""

ALLOWED: Final = Path(__file__).with_name("allowed_words.tsv")
"""File of correct uses: path, part of the line, and reason."""

_SKIPPED: Final = (
    "docs/settings.md",
    "schema.d.ts",
    "/models.py",
    "/vendor/",
    "docs/static/",
    "/pt.js",
)
_SUFFIXES: Final = (".py", ".md", ".js", ".mjs", ".html", ".sql", ".yml", ".yaml", ".toml", ".ts")
_NAMED: Final = ("Makefile", "Dockerfile")
_CODE: Final = re.compile(r"``.*?``|`[^`]*`|\]\([^)]*\)|https?://\S+|\{[^{}]*\}|\S*[_/]\S*")
_MARKED: Final = re.compile(r"""(?://|/\*|\*\s).*|"[^"]*"|'[^']*'|`[^`]*`|>[^<>]+<""")


def _prose_of_python(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line number and text of comments, and of strings with several words."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        is_string = token.type == tokenize.STRING and " " in token.string.strip()
        if token.type == tokenize.COMMENT or is_string:
            yield from enumerate(token.string.splitlines(), token.start[0])


def _prose_of_markdown(text: str) -> Iterator[tuple[int, str]]:
    is_code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code:
            yield number, line


def _prose(path: Path) -> Iterator[tuple[int, str]]:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        yield from _prose_of_python(text)
    elif path.suffix == ".md":
        yield from _prose_of_markdown(text)
    elif path.suffix in (".js", ".mjs", ".ts"):
        for number, line in enumerate(text.splitlines(), 1):
            yield number, " ".join(part for part in _MARKED.findall(line) if " " in part)
    else:
        yield from enumerate(text.splitlines(), 1)


def _files(*places: str) -> Iterator[str]:
    listed = subprocess.run(
        ("git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *places),
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    for path in listed.stdout.splitlines():
        is_read = path.endswith(_SUFFIXES) or path.rpartition("/")[2] in _NAMED
        if is_read and not any(part in path for part in _SKIPPED) and (ROOT / path).exists():
            yield path


def found_words(*places: str) -> Iterator[tuple[str, int, str, str]]:
    """Yield path, line number, word and line of every use in the folders and files."""
    for path in _files(*places):
        if path == Path(__file__).relative_to(ROOT).as_posix():
            continue
        for number, line in _prose(ROOT / path):
            for word in WORDS.findall(_CODE.sub(" ", line) if path.endswith(".md") else line):
                yield path, number, word, line.strip()


def _allowed() -> list[tuple[str, str, str]]:
    rows = [line.split("\t") for line in ALLOWED.read_text(encoding="utf-8").splitlines()]
    return [(path, part, reason) for path, part, reason in rows]


@pytest.mark.parametrize("group", GROUPS)
def test_words_are_plain(group: str) -> None:
    places, most = GROUPS[group]
    found = list(found_words(*places))
    allowed = [row for row in _allowed() if row[0].startswith(places)]
    wrong = [
        f"{path}:{number}: {word}: {line}"
        for path, number, word, line in found
        if not any(path == row[0] and row[1] in line for row in allowed)
    ]
    unused = [
        row for row in allowed if not any(row[0] == use[0] and row[1] in use[3] for use in found)
    ]

    assert wrong == []
    assert unused == []
    assert all(reason for *_, reason in allowed)
    assert len(allowed) <= most


if __name__ == "__main__":
    for use in found_words(*sys.argv[1:]):
        sys.stdout.write("{}:{}: {}: {}\n".format(*use))
