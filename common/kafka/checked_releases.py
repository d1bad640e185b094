"""Checks the releases of Kafka libraries whose internals the service patches.

In another release, the patched code may differ, so that records would silently be lost. Each
workaround is a separate module, which can be removed when the library is fixed.
"""

from importlib.metadata import version
from typing import Final, NamedTuple

from common.errors import MisconfiguredError


class _Checked(NamedTuple):
    release: str
    replaced_by: str


_RUNTIME: Final = "streams/runtime/"
_CHECKED: Final = {
    "aiokafka": _Checked("0.14.0", _RUNTIME),
    "faust-streaming": _Checked("0.15.3", _RUNTIME),
    "kafka-python": _Checked("3.0.12", "common/kafka/workarounds/"),
    "mode-streaming": _Checked("0.7.1", _RUNTIME),
}


def require_checked_release(*libraries: str) -> None:
    """Verify that the installed libraries are the releases for which our patches were written.

    Raises:
        MisconfiguredError: a different release of a library is installed.
    """
    for library in libraries:
        installed, checked = version(library), _CHECKED[library]
        if installed != checked.release:
            raise MisconfiguredError(
                f"{library} {installed} has not been verified with {checked.replaced_by} "
                f"(verified release: {checked.release})"
            )
