"""One stack for all tests of this folder, with alerts, receivers and the load's frames."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.fault.faults import BROKERS, TWICE, TWICE_IN_SHORT, quotas
from tests.fault.footage import film
from tests.fault.receivers import Receivers
from tests.fault.scenery import SETTINGS, Scenery, open_scenery, show_undisturbed
from tests.services.cable import Cable
from tests.services.stack import RunningStack

ROUNDS = int(os.environ.get("ROUNDS") or 0)

# A short round uses a shorter scene, because each show is completed after the last fault.
_PASSES = 8 if ROUNDS else 4

Say = Callable[[str], None]


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Say:
    """A function that prints a line while the test runs."""

    def write(line: str) -> None:
        with capsys.disabled():
            sys.stdout.write(f"\n    {line}")
            sys.stdout.flush()

    return write


@contextmanager
def stack_folder(kept: Path) -> Iterator[Path]:
    """Yield a folder with a short path, and copy the logs to another folder afterwards."""
    with TemporaryDirectory(prefix="platestream-fault-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        yield folder
        if (folder / "logs").exists():
            shutil.copytree(folder / "logs", kept / "logs")


@pytest.fixture(scope="package")
def has_quotas(fault_folder: Path) -> Iterator[bool]:
    """Whether the data of each server are on a separate small file system."""
    with quotas(fault_folder) if ROUNDS else nullcontext(False) as are_there:
        yield are_there


@pytest.fixture(scope="package")
def fault_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of the stack. Its logs are saved with the logs of the test run."""
    with stack_folder(tmp_path_factory.mktemp("fault")) as folder:
        yield folder


@pytest.fixture(scope="package")
def scenery(fault_folder: Path, has_quotas: bool) -> Iterator[Scenery]:
    """A stack that has processed the scene once without faults, to record the expected plates."""
    with ExitStack() as open_things:
        receivers = open_things.enter_context(Receivers())
        settings = SETTINGS | {"SMTP_PORT": str(receivers.mail.port)}
        stack = open_things.enter_context(
            RunningStack(
                fault_folder,
                settings,
                second_workers=TWICE if ROUNDS else TWICE_IN_SHORT,
                brokers=BROKERS if ROUNDS else 1,
                cable=Cable(),
            )
        )
        made = open_scenery(stack, receivers, lambda: film(_PASSES))
        scenery = open_things.enter_context(made)
        show_undisturbed(scenery)
        yield scenery
