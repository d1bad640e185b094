"""Which tests stay in one process, where several share them."""

from typing import Final

from xdist.scheduler import LoadScopeScheduling

WHOLE_STACKS: Final = ("tests/e2e/test_", "tests/fault/")
"""They start all that Platestream is: two cores carry one of it."""

CONSOLE: Final = "tests/e2e/console/"
"""They share an API with a month of recognitions, and a browser."""


class Schedule(LoadScopeScheduling):  # type: ignore[misc]  # pytest-xdist has no types
    """A module stays together, for what its tests share; so do all that start whole stacks."""

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith(WHOLE_STACKS):
            return "whole stacks"
        if nodeid.startswith(CONSOLE):
            return "console"
        return nodeid.split("::")[0]
