"""Durations of the tests in each folder, recorded in one run for ``tests/structure``."""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pytest

RECORD: Final = Path(__file__).with_name("durations.tsv")
"""Written by ``make test RECORD=1``. Each line has a folder and the total seconds of its tests."""


def record(reports: Iterable[pytest.TestReport]) -> None:
    """Write the total of set-up, call and tear-down for each folder, longest first."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for report in reports:
        seconds[_folder(report.nodeid)] += report.duration
    longest_first = sorted(seconds.items(), key=lambda item: -item[1])
    lines = [f"{folder}\t{total:.0f}\n" for folder, total in longest_first]
    RECORD.write_text("".join(lines), encoding="utf-8")


def _folder(nodeid: str) -> str:
    """Return at most the first three parts of a test's path."""
    return "/".join(nodeid.split("::")[0].split("/")[:-1][:3])
