"""The releases of Kafka's libraries whose insides are replaced here, and by which of our modules.

Another release may have moved what is replaced, and would then lose records without a word.
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
    """Make sure that the installed libraries are those that our modules were read with.

    Raises:
        MisconfiguredError: one has another release.
    """
    for library in libraries:
        installed, checked = version(library), _CHECKED[library]
        if installed != checked.release:
            raise MisconfiguredError(
                f"{library} {installed} was not checked with {checked.replaced_by}, "
                f"which knows {checked.release}"
            )
