from io import StringIO

import pytest

from deploy.local.servers.base import NotReadyError
from deploy.local.waiting import Progress, StartError, Waiter


def _never() -> None:
    raise NotReadyError("port 1: Connection refused")


def test_says_what_is_there_and_after_how_long() -> None:
    out = StringIO()
    times = iter([0.0, 2.5])

    Waiter(Progress(out), clock=lambda: next(times)).wait("kafka", lambda: None, seconds=9)

    assert out.getvalue().split() == ["kafka", "ready", "2.5", "s"]


def test_tries_again_until_the_check_passes() -> None:
    answers = iter([False, False, True])

    def check() -> None:
        if not next(answers):
            raise NotReadyError("not yet")

    Waiter(Progress(StringIO())).wait("kafka", check, seconds=9)

    assert next(answers, None) is None


def test_gives_the_reason_when_time_is_up() -> None:
    times = iter([0.0, 100.0])

    with pytest.raises(
        StartError, match="kafka was not ready after 9 s: port 1: Connection refused"
    ):
        Waiter(Progress(StringIO()), clock=lambda: next(times)).wait("kafka", _never, seconds=9)


def test_says_from_time_to_time_why_it_waits() -> None:
    out = StringIO()
    times = iter([0.0, 11.0, 12.0, 100.0])

    with pytest.raises(StartError):
        Waiter(Progress(out), clock=lambda: next(times)).wait("kafka", _never, seconds=20)

    assert out.getvalue().count("(port 1: Connection refused)") == 1


def test_a_cancelled_wait_ends_immediately() -> None:
    waiter = Waiter(Progress(StringIO()))
    waiter.give_up()

    with pytest.raises(StartError, match="stopped waiting for kafka"):
        waiter.wait("kafka", _never, seconds=3600)
