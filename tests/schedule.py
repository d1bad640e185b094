"""Which tests must run in one process, if several processes share them."""

from typing import Final

from xdist.scheduler import LoadScopeScheduling

WHOLE_STACKS: Final = ("tests/e2e/test_", "tests/fault/")
"""They start a whole stack: two cores can run one at a time."""

CONSOLE: Final = "tests/e2e/console/"
"""They share an API with a month of recognitions, and a browser."""


class Schedule(LoadScopeScheduling):  # type: ignore[misc]  # pytest-xdist has no types
    """Keep a module together, for its shared fixtures, and all tests that start whole stacks."""

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith(WHOLE_STACKS):
            return "whole stacks"
        if nodeid.startswith(CONSOLE):
            return "console"
        return nodeid.split("::")[0]
