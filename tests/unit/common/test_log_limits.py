import logging
from collections.abc import Iterator

import pytest
import structlog

from common.logs import SUPPRESSED, RepeatLimit, configure_logging
from common.settings import LogFormat, ProcessSettings
from tests.clock import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def limit(clock: Clock) -> RepeatLimit:
    return RepeatLimit(10, exempt=("ours",), clock=clock)


def record(
    message: str = "no broker %s",
    *arguments: object,
    name: str = "aiokafka.conn",
    level: int = logging.WARNING,
    error: Exception | None = None,
) -> logging.LogRecord:
    exc_info = (type(error), error, None) if error else None
    return logging.LogRecord(name, level, "a.py", 1, message, arguments, exc_info)


def test_one_of_a_kind_is_logged_in_a_while_and_the_next_one_counts_the_rest(
    limit: RepeatLimit, clock: Clock
) -> None:
    assert [limit.filter(record("no broker %s", n)) for n in range(4)] == [True, *[False] * 3]
    clock.seconds += 9.9
    assert not limit.filter(record())
    clock.seconds += 0.1
    later = record()
    assert limit.filter(later)
    assert getattr(later, SUPPRESSED) == 4
    clock.seconds += 10
    last = record()
    assert limit.filter(last)
    assert not hasattr(last, SUPPRESSED)


@pytest.mark.parametrize(
    "other",
    [
        record("no leader %s", 1),
        record(name="aiokafka.client"),
        record(level=logging.ERROR),
        record(error=OSError("unavailable")),
    ],
    ids=["message", "logger", "level", "error"],
)
def test_other_kinds_are_not_suppressed(limit: RepeatLimit, other: logging.LogRecord) -> None:
    assert limit.filter(record())
    assert limit.filter(other)
    assert not limit.filter(other)


def test_numbers_in_a_message_make_no_other_kind(limit: RepeatLimit) -> None:
    assert limit.filter(record("fetch 17 of <Fetcher at 0x7f3a> failed"))
    assert not limit.filter(record("fetch 4 of <Fetcher at 0x9bb0> failed"))


def test_exempt_packages_are_never_suppressed(limit: RepeatLimit) -> None:
    assert all(limit.filter(record(name=name)) for name in ("ours", "ours.room", "ours.room"))
    assert [limit.filter(record(name="oursish")) for _ in range(2)] == [True, False]


def test_what_is_remembered_is_bounded(limit: RepeatLimit) -> None:
    for number in range(2000):
        assert limit.filter(record("kind " + "x" * number))
    assert limit.filter(record("kind "))
    assert not limit.filter(record("kind " + "x" * 1999))


@pytest.fixture
def logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


@pytest.mark.usefixtures("logging_as_before")
def test_a_configured_process_limits_libraries_and_not_itself(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure_logging(ProcessSettings.model_validate({"log_format": LogFormat.JSON}))
    (handler,) = logging.getLogger().handlers
    limit = handler.filters[-1]
    assert isinstance(limit, RepeatLimit)
    clock = limit._clock = Clock()
    for _ in range(3):
        logging.getLogger("aiokafka").warning("no broker %s", 1)
        logging.getLogger("streams.sink").warning("ours")
    clock.seconds += 60
    logging.getLogger("aiokafka").warning("no broker %s", 2)
    lines = capsys.readouterr().err.splitlines()
    assert sum("ours" in line for line in lines) == 3
    first, second = (line for line in lines if "no broker" in line)
    assert "no broker 1" in first
    assert SUPPRESSED not in first
    assert '"suppressed": 2' in second


@pytest.mark.usefixtures("logging_as_before")
@pytest.mark.parametrize(
    ("logger", "message", "level"),
    [
        ("kafka.cluster", "Metadata refresh: failed %s", "warning"),
        ("aiokafka.consumer.group_coordinator", "Group Coordinator Request failed: %s", "warning"),
        ("mode.threads", "Thread keepalive is not responding...%s", "warning"),
        ("mode.services", "Crashed reason=%s", "error"),
        ("streams.runtime.stage_runner", "dead_letter %s", "error"),
        ("kafkaesque", "failed %s", "error"),
    ],
)
def test_what_clients_of_kafka_try_again_is_no_error(
    logger: str, message: str, level: str, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logging(ProcessSettings.model_validate({"log_format": LogFormat.JSON}))
    logging.getLogger(logger).error(message, "it")
    lines = capsys.readouterr().err.splitlines()
    assert [f'"level": "{level}"' in line for line in lines] == [True]
