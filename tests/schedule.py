"""Distributes tests to processes, and keeps some tests in the same process."""

from typing import Final

from xdist.scheduler import LoadScopeScheduling

WHOLE_STACKS: Final = ("tests/e2e/test_", "tests/fault/")
"""Tests that start a whole stack. Two cores can run only one stack at a time."""

CONSOLE: Final = "tests/e2e/console/"
"""Tests that share a browser, and an API with a month of recognitions."""


class Schedule(LoadScopeScheduling):  # type: ignore[misc]  # pytest-xdist has no types
    """Keeps together the tests of a module, for their fixtures, and all tests of whole stacks."""

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith(WHOLE_STACKS):
            return "whole stacks"
        if nodeid.startswith(CONSOLE):
            return "console"
        return nodeid.split("::")[0]
