"""Duration of each folder's tests in one run, recorded for ``tests/structure``."""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pytest

RECORD: Final = Path(__file__).with_name("durations.tsv")
"""Written by ``make test RECORD=1``: a folder and the sum of its tests' seconds on each line."""


def record(reports: Iterable[pytest.TestReport]) -> None:
    """Write the sums of set-up, call and tear-down by folder, the longest first."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for report in reports:
        seconds[_folder(report.nodeid)] += report.duration
    longest_first = sorted(seconds.items(), key=lambda item: -item[1])
    lines = [f"{folder}\t{total:.0f}\n" for folder, total in longest_first]
    RECORD.write_text("".join(lines), encoding="utf-8")


def _folder(nodeid: str) -> str:
    """Return the first three parts of a test's path, or fewer."""
    return "/".join(nodeid.split("::")[0].split("/")[:-1][:3])
