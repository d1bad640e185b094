"""Budgets for the size of the code and the time of its tests. Budgets are never raised."""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.durations import RECORD
from tools.scripts.settings_docs import settings_classes

ROOT: Final = Path(__file__).resolve().parents[2]

LINES: Final[Mapping[str, int]] = {
    "api": 28_418,
    "streams": 13_471,
    "common": 8_697,
    "ingest": 6_179,
    "recognition": 4_537,
    "analytics_sql": 3_659,
    "deploy": 4_193,
    "tools": 6_962,
    "tests": 79_121,
}
"""Maximum lines of Python in each top-level folder."""

PROTOCOLS: Final = 12
"""Number of protocols outside the tests. Each has two implementations, or a widely used fake."""

SETTINGS: Final = 120

LONG_MODULE_LINES: Final = 300
LONG_MODULES: Final = 37
"""Number of modules of the service with more lines than ``LONG_MODULE_LINES``."""

TEST_SECONDS: Final[Mapping[str, int]] = {
    "tests/e2e": 150,
    "tests/e2e/console": 80,
    "tests/fault": 260,
    "tests/fleet": 10,
    "tests/integration/analytics_sql": 510,
    "tests/integration/api": 700,
    "tests/integration/common": 20,
    "tests/integration/deploy": 90,
    "tests/integration/ingest": 270,
    "tests/integration/recognition": 200,
    "tests/integration/streams": 640,
    "tests/structure": 80,
    "tests/unit/analytics_sql": 10,
    "tests/unit/api": 80,
    "tests/unit/clients": 20,
    "tests/unit/common": 30,
    "tests/unit/deploy": 10,
    "tests/unit/fault": 10,
    "tests/unit/fleet": 10,
    "tests/unit/ingest": 170,
    "tests/unit/recognition": 90,
    "tests/unit/streams": 160,
    "tests/unit/tools": 120,
}
"""Maximum sum of the tests' durations in a folder, as recorded by ``make test RECORD=1``."""


# Released migrations are never deleted, so they must not use up the budget.
MIGRATIONS: Final = ROOT / "api/db/migrations/versions"


def _modules(room: str) -> list[Path]:
    return sorted(path for path in (ROOT / room).rglob("*.py") if path.parent != MIGRATIONS)


@pytest.mark.parametrize("room", LINES)
def test_a_room_stays_within_its_lines(room: str) -> None:
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in _modules(room))

    assert lines <= LINES[room]


def _protocols() -> Iterator[str]:
    for room in LINES.keys() - {"tests"}:
        for path in _modules(room):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef) and "Protocol" in map(ast.unparse, node.bases):
                    yield f"{path.relative_to(ROOT)}: {node.name}"


def test_protocols_are_few() -> None:
    found = sorted(_protocols())

    assert len(found) <= PROTOCOLS, found


def test_settings_are_few() -> None:
    names = {name for each in settings_classes() for name in each.environment_names()}

    assert len(names) <= SETTINGS


def test_long_modules_are_few() -> None:
    long = {
        path.relative_to(ROOT).as_posix()
        for room in LINES.keys() - {"tests", "tools"}
        for path in _modules(room)
        if len(path.read_text(encoding="utf-8").splitlines()) > LONG_MODULE_LINES
    }

    assert len(long) <= LONG_MODULES, sorted(long)


def test_tests_stay_within_their_time() -> None:
    seconds: Counter[str] = Counter()
    for line in RECORD.read_text(encoding="utf-8").splitlines():
        folder, took = line.split("\t")
        seconds[folder] = round(float(took))

    assert {name: took for name, took in seconds.items() if took > TEST_SECONDS.get(name, 0)} == {}
