"""Each server is unavailable for a while under load. Nothing is lost, everything recovers, and the
API responds or names the unavailable dependency.

An outage takes some seconds in every test run, and five minutes with ``OUTAGE_SECONDS=300 pytest -m
fault``. An odd ``FAULT_SEED`` freezes ClickHouse and S3 (they do not respond) and stops the other
servers (connections are refused). An even seed does the reverse.
"""

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial

import msgspec
import pytest

from common.timestamps import now_ms
from tests.fault.account import hold_to_account
from tests.fault.alert_delays import alert_delays_seconds, percentile_95
from tests.fault.api import Answer
from tests.fault.conftest import Say
from tests.fault.faults import RECOVERY_SECONDS, SERVERS, Saboteur
from tests.fault.recovery import Recoveries
from tests.fault.scenery import Scenery

OUTAGE_SECONDS = float(os.environ.get("OUTAGE_SECONDS") or 0)
SEED = int(os.environ.get("FAULT_SEED") or 1)
PLATES_PER_SECOND = float(os.environ.get("PLATES_PER_SECOND") or 5)

pytestmark = [pytest.mark.fault, pytest.mark.long, pytest.mark.timeout(900 + 3 * OUTAGE_SECONDS)]

_SHORT_SECONDS = 5.0
# The API reports Kafka as unavailable after 10 s without a response (common.kafka.tailer).
_NOTICED_SECONDS = 15.0
# The circuit breaker checks a slow server after 1.5 s, for up to 3 s
# (api/adapters/circuit_breaker.py).
_LONGEST_ANSWER_SECONDS = 10.0
# The error code for an unavailable dependency; see api/errors.py.
_UNAVAILABLE = '"code":"dependency_unavailable"'
_LOAD_SHARE = 0.3
# Limit of alert delays and searches while S3 is unavailable, at the 95th percentile.
_SLOWEST_SECONDS = 3.0
_ALONE = tuple((stopped,) for stopped in (*SERVERS, "mail", "receiver"))
_TOGETHER = (("clickhouse", "s3", "mail"), ("kafka", "postgres", "receiver"))


@dataclass(frozen=True)
class Asked:
    """The API's response to one request of a client during an outage."""

    what: str
    answer: Answer

    @property
    def fault(self) -> str | None:
        """A slow response, or an error that names no unavailable dependency; None if correct."""
        if self.answer.seconds > _LONGEST_ANSWER_SECONDS:
            return f"{self.what}: {self.answer.seconds:.1f} s"
        if 200 <= self.answer.status < 300:
            return None
        if self.answer.status == 503 and "checks" in msgspec.json.decode(self.answer.text):
            return None
        if self.answer.status == 500 and _UNAVAILABLE in self.answer.text:
            return None
        return f"{self.what}: {self.answer.status} {self.answer.text[:200]}"


@pytest.mark.parametrize("stopped", _ALONE if OUTAGE_SECONDS else _TOGETHER, ids=" ".join)
def test_nothing_is_lost_while_servers_are_unavailable(
    stopped: tuple[str, ...], scenery: Scenery, say: Say
) -> None:
    watch = Recoveries(Saboteur(scenery.stack), scenery.api, scenery.stages, None)
    with scenery.under_load(share=_LOAD_SHARE, plates_per_second=PLATES_PER_SECOND):
        with ExitStack() as outage:
            for one in stopped:
                outage.enter_context(_without(scenery, one))
            began_ms = now_ms()
            asked = list(_ask_meanwhile(scenery, stopped))
            over_ms = now_ms()
        servers = [one for one in stopped if one in SERVERS]
        recovery = watch.wait(
            ", ".join(f"{one} {'frozen' if _is_frozen(one) else 'gone'}" for one in stopped),
            lambda: all(scenery.stack.pid(server) for server in servers),
        )
    say(str(recovery))
    say(_summary(asked))
    hold_to_account(scenery, say)
    faults = [each.fault for each in asked if each.fault]
    assert not faults, faults
    assert recovery.is_in_time, f"not recovered within {RECOVERY_SECONDS} s: {recovery}"
    if "s3" in stopped:
        _hold_to_its_pace(scenery, say, began_ms, over_ms)
    if stopped == ("s3",):
        searches = sorted(each.answer.seconds for each in asked if each.what == "search")
        assert percentile_95(searches) <= _SLOWEST_SECONDS, searches


def _hold_to_its_pace(scenery: Scenery, say: Say, began_ms: int, over_ms: int) -> None:
    """Fail if alerts waited for images. Alerts must be sent before images are stored."""
    delays = alert_delays_seconds(
        scenery.stages.dated_readings(),
        scenery.stages.dated_alerts(),
        since_ms=began_ms,
        until_ms=over_ms,
    )
    say(f"{len(delays)} alerts meanwhile, p95 {percentile_95(delays):.1f} s after their pass")
    assert delays or not OUTAGE_SECONDS
    assert percentile_95(delays) <= _SLOWEST_SECONDS, delays


def _is_frozen(stopped: str) -> bool:
    return stopped in SERVERS and (SERVERS.index(stopped) + SEED) % 2 == 0


@contextmanager
def _without(scenery: Scenery, stopped: str) -> Iterator[None]:
    stack, receivers = scenery.stack, scenery.receivers
    if stopped == "mail":
        leave, recover = receivers.mail.become_unavailable, receivers.mail.recover
    elif stopped == "receiver":
        leave, recover = receivers.web.become_unavailable, receivers.web.recover
    elif _is_frozen(stopped):
        leave, recover = partial(stack.pause, stopped), partial(stack.resume, stopped)
    else:
        leave, recover = partial(stack.stop_process, stopped), partial(stack.start_process, stopped)
    leave()
    try:
        yield
    finally:
        recover()


def _ask_meanwhile(scenery: Scenery, stopped: tuple[str, ...]) -> Iterator[Asked]:
    """Yield the responses to searches, reads, changes and /readyz until the outage is over."""
    api, webhook_id = scenery.api, scenery.webhook_id
    began = time.monotonic()
    seconds = OUTAGE_SECONDS or _SHORT_SECONDS
    while time.monotonic() < began + seconds:
        yield Asked("search", api.ask("GET", "/api/recognitions"))
        yield Asked("read", api.ask("GET", "/api/cameras"))
        changed = {"name": f"Fault {time.monotonic():.0f}"}
        yield Asked("change", api.ask("PUT", f"/api/webhooks/{webhook_id}", json=changed))
        is_due = time.monotonic() > began + _NOTICED_SECONDS
        ready = api.ask("GET", scenery.stack.ready_url)
        yield Asked("readyz", ready)
        servers = {one for one in stopped if one in SERVERS}
        # A check of the server may have succeeded just before the outage.
        assert not is_due or _named(ready) >= servers, f"/readyz does not name {servers}: {ready}"
        assert servers or ready.status == 200, ready
        time.sleep(1)


def _named(ready: Answer) -> set[str]:
    """Return the dependencies that /readyz reports as unavailable."""
    checks = msgspec.json.decode(ready.text)["checks"] if ready.status == 503 else {}
    return {name for name, said in checks.items() if said != "ok"}


def _summary(asked: list[Asked]) -> str:
    """Return for each kind of request the successes, the total, and the slowest response."""
    lines = []
    for what in dict.fromkeys(each.what for each in asked):
        answers = [each.answer for each in asked if each.what == what]
        well = sum(answer.status < 300 for answer in answers)
        slowest = max(answer.seconds for answer in answers)
        lines.append(f"{what}: {well} of {len(answers)} answered, slowest {slowest:.1f} s")
    return "; ".join(lines)
