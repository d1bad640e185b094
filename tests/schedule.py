"""Which tests stay in one process, where several share them."""

from typing import Final

from xdist.scheduler import LoadScopeScheduling

WHOLE_STACKS: Final = ("tests/e2e/", "tests/fault/", "tests/integration/deploy/local/test_stack.py")
"""They start all that Platestream is: two cores carry one of it."""


class Schedule(LoadScopeScheduling):  # type: ignore[misc]  # pytest-xdist has no types
    """A module stays together, for what its tests share; so do all that start whole stacks."""

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith(WHOLE_STACKS):
            return "whole stacks"
        return nodeid.split("::")[0]
