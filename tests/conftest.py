"""Fixtures of all tests: the real servers, started when the first test asks for one."""

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

# Warnings are errors, except those that libraries cause.
_LIBRARY_WARNINGS = (
    # kafka-python 3.0.12 reads its message schemas with a call that Python 3.11 deprecates.
    "ignore:read_text is deprecated:DeprecationWarning",
    "ignore:open_text is deprecated:DeprecationWarning",
)
# Collecting makes hundreds of thousands of objects and no garbage worth the search.
gc.disable()

# Twice, because the fixtures below are imported before pytest reads its configuration again.
for _line in _LIBRARY_WARNINGS:
    warnings.filterwarnings("ignore", _line.split(":")[1], DeprecationWarning)

# Log lines are captured with the test that caused them, so pytest's output stays readable.
structlog.configure(
    processors=[structlog.processors.format_exc_info, structlog.processors.KeyValueRenderer()],
    wrapper_class=structlog.stdlib.BoundLogger,
    logger_factory=structlog.stdlib.LoggerFactory(),
)

# Properties are about results. How long an example takes depends on the machine's other work.
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
    """Add what libraries may warn of."""
    for line in _LIBRARY_WARNINGS:
        config.addinivalue_line("filterwarnings", line)


def pytest_collection_finish() -> None:
    """Leave what was collected out of all later searches for garbage."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Schedule:
    """Share the tests among processes."""
    return Schedule(config, log)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Record durations; say which examples of the documentation this machine could not run."""
    if terminalreporter.config.getoption("--record-durations"):
        found = [each for some in terminalreporter.stats.values() for each in some]
        durations.record(each for each in found if isinstance(each, pytest.TestReport))
    if missing := languages.absent():
        terminalreporter.line(f"examples in docs/ that were NOT run here: {', '.join(missing)}")


@pytest.fixture(scope="session")
def services_directory() -> Iterator[Path]:
    """Folder of the servers' data and logs, gone after the test run."""
    with TemporaryDirectory(prefix="platestream-tests-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)
