"""Each server away for a while under load: nothing is lost, all comes back by itself, and meanwhile
the API answers or says what is down.

Some seconds in every test run; ``OUTAGE_SECONDS=300 pytest -m fault`` takes each away for five
minutes. ``FAULT_SEED`` chooses whether a server is gone (connections are refused) or frozen
(nothing answers).
"""

import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import msgspec
import pytest

from tests.fault.api import Answer, Api
from tests.fault.conftest import Say
from tests.fault.faults import SERVERS, Saboteur
from tests.fault.recovery import BACK_SECONDS, Recoveries
from tests.fault.scenery import Scenery

OUTAGE_SECONDS = float(os.environ.get("OUTAGE_SECONDS") or 0)
SEED = int(os.environ.get("FAULT_SEED") or 1)
PLATES_PER_SECOND = float(os.environ.get("PLATES_PER_SECOND") or 5)

pytestmark = [pytest.mark.fault, pytest.mark.timeout(900 + 3 * OUTAGE_SECONDS)]

_SHORT_SECONDS = 5.0
_NOTICED_SECONDS = 5.0
# The API waits ten seconds for ClickHouse and fifteen for Postgres.
_LONGEST_ANSWER_SECONDS = 20.0
# What the interface has for a part that is away, see api/errors.py.
_UNAVAILABLE = '"code":"dependency_unavailable"'
_LOAD_SHARE = 0.3
_OTHERS = ("mail", "receiver")


@dataclass(frozen=True)
class Asked:
    """What the API answered to one question of a client during an outage."""

    what: str
    answer: Answer

    @property
    def fault(self) -> str | None:
        """What is wrong with it: too slow, or neither an answer nor word that a part is away."""
        if self.answer.seconds > _LONGEST_ANSWER_SECONDS:
            return f"{self.what}: {self.answer.seconds:.1f} s"
        if 200 <= self.answer.status < 300:
            return None
        if self.answer.status == 503 and "checks" in msgspec.json.decode(self.answer.text):
            return None
        if self.answer.status == 500 and _UNAVAILABLE in self.answer.text:
            return None
        return f"{self.what}: {self.answer.status} {self.answer.text[:200]}"


@pytest.mark.parametrize("away", [*SERVERS, *_OTHERS])
def test_nothing_is_lost_while_a_server_is_away(away: str, scenery: Scenery, say: Say) -> None:
    frozen = random.Random(f"{SEED} {away}").random() < 0.5
    saboteur = Saboteur(scenery.stack)
    watch = Recoveries(saboteur, scenery.api, scenery.stages, None)
    with scenery.under_load(share=_LOAD_SHARE, plates_per_second=PLATES_PER_SECOND):
        with _away(scenery, away, frozen=frozen) as is_there:
            asked = list(_ask_meanwhile(scenery.api, scenery.webhook_id, away))
        recovery = watch.wait(f"{away} {'frozen' if frozen else 'gone'}", is_there)
    say(str(recovery))
    say(_told(asked))
    verdict = scenery.until_settled()
    say(str(verdict))
    assert not verdict, verdict
    faults = [each.fault for each in asked if each.fault]
    assert not faults, faults
    assert recovery.is_in_time, f"not back within {BACK_SECONDS} s: {recovery}"


@contextmanager
def _away(scenery: Scenery, away: str, *, frozen: bool) -> Iterator[Callable[[], bool]]:
    stack, receivers = scenery.stack, scenery.receivers
    is_there: Callable[[], bool] = lambda: True  # noqa: E731
    if away == "mail":
        leave, come_back = receivers.mail.go_away, receivers.mail.come_back
    elif away == "receiver":
        leave, come_back = receivers.web.go_away, receivers.web.come_back
    elif frozen:
        leave, come_back = lambda: stack.pause(away), lambda: stack.resume(away)
    else:
        leave, come_back = lambda: stack.stop_process(away), lambda: stack.start_process(away)
        is_there = lambda: stack.is_running(away)  # noqa: E731
    leave()
    try:
        yield is_there
    finally:
        come_back()


def _ask_meanwhile(api: Api, webhook_id: str, away: str) -> Iterator[Asked]:
    """Search, read and change configuration, and look at /readyz, until the outage is over."""
    began = time.monotonic()
    seconds = OUTAGE_SECONDS or _SHORT_SECONDS
    while time.monotonic() < began + seconds:
        yield Asked("search", api.ask("GET", "/api/recognitions"))
        yield Asked("read", api.ask("GET", "/api/cameras"))
        changed = {"name": f"Fault {time.monotonic():.0f}"}
        yield Asked("change", api.ask("PUT", f"/api/webhooks/{webhook_id}", json=changed))
        ready = api.ask("GET", "/readyz")
        yield Asked("readyz", ready)
        is_named = ready.status == 503 and _names(ready, away)
        if away in SERVERS and time.monotonic() > began + _NOTICED_SECONDS:
            assert is_named, f"/readyz does not name {away}: {ready}"
        if away in _OTHERS:
            assert ready.status == 200, ready
        time.sleep(1)


def _names(ready: Answer, server: str) -> bool:
    return bool(msgspec.json.decode(ready.text)["checks"].get(server) not in ("ok", None))


def _told(asked: list[Asked]) -> str:
    """Return for each question how often it was answered, how often not, and the slowest."""
    lines = []
    for what in dict.fromkeys(each.what for each in asked):
        answers = [each.answer for each in asked if each.what == what]
        well = sum(answer.status < 300 for answer in answers)
        slowest = max(answer.seconds for answer in answers)
        lines.append(f"{what}: {well} of {len(answers)} answered, slowest {slowest:.1f} s")
    return "; ".join(lines)
