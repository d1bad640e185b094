"""Fixtures of all tests. A server starts when the first test requests its fixture."""

import gc
import warnings
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import hypothesis
import pytest
import structlog

from tests import durations, languages
from tests.schedule import Schedule

# Warnings are errors, except for warnings that libraries cause.
_LIBRARY_WARNINGS = (
    # kafka-python 3.0.12 reads its message schemas with a call that Python 3.11 deprecates.
    "ignore:read_text is deprecated:DeprecationWarning",
    "ignore:open_text is deprecated:DeprecationWarning",
)
# Collecting the tests creates hundreds of thousands of objects and hardly any garbage.
gc.disable()

# These lines run twice: the fixtures below are imported before pytest rereads its configuration.
for _line in _LIBRARY_WARNINGS:
    warnings.filterwarnings("ignore", _line.split(":")[1], DeprecationWarning)

# Each log line is captured with its test, so the output of pytest stays readable.
structlog.configure(
    processors=[structlog.processors.format_exc_info, structlog.processors.KeyValueRenderer()],
    wrapper_class=structlog.stdlib.BoundLogger,
    logger_factory=structlog.stdlib.LoggerFactory(),
)

# Property tests check results. The duration of an example depends on the load of the machine.
hypothesis.settings.register_profile("platestream", deadline=None)
hypothesis.settings.load_profile("platestream")

pytest_plugins = [
    "tests.services.clickhouse",
    "tests.services.kafka",
    "tests.services.mqtt",
    "tests.services.oidc",
    "tests.services.postgres",
    "tests.services.redis",
    "tests.services.s3",
]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that records durations."""
    parser.addoption("--record-durations", action="store_true", help=durations.__doc__)


def pytest_configure(config: pytest.Config) -> None:
    """Ignore the warnings that libraries are allowed to cause."""
    for line in _LIBRARY_WARNINGS:
        config.addinivalue_line("filterwarnings", line)


def pytest_collection_finish() -> None:
    """Exclude the collected tests from all later garbage collections."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Schedule:
    """Return the scheduler that distributes the tests to the processes."""
    return Schedule(config, log)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Record durations, and print the documented examples that this machine could not run."""
    if terminalreporter.config.getoption("--record-durations"):
        found = [each for some in terminalreporter.stats.values() for each in some]
        durations.record(each for each in found if isinstance(each, pytest.TestReport))
    if missing := languages.absent():
        terminalreporter.line(f"examples in docs/ that were NOT run here: {', '.join(missing)}")


@pytest.fixture(scope="session")
def services_directory() -> Iterator[Path]:
    """Folder of the servers' data and logs. It is deleted after the test run."""
    with TemporaryDirectory(prefix="platestream-tests-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)
