"""Faults in a fleet under load cause no lost or duplicate result and no late alert.

The first round restarts one process after another. ``ROUNDS=20 make fleet`` runs twenty rounds;
``FLEET_SEED`` determines the order, times and processes of the faults.
"""

import itertools
import os
import random
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.fault.account import hold_to_account
from tests.fault.api import Api
from tests.fault.conftest import Say
from tests.fault.faults import RECOVERY_SECONDS, Saboteur
from tests.fault.footage import film, write_clip
from tests.fault.ledger import judge_loop
from tests.fault.receivers import Receivers
from tests.fault.recovery import Recoveries
from tests.fault.scenery import Scenery, open_scenery, show_undisturbed
from tests.fleet.fleet import PROCESSES, SKEW_SECONDS, running_fleet
from tests.fleet.harms import Harm, Saboteurs, harms
from tests.fleet.lateness import Lateness, of_seen, of_sent

ROUNDS = int(os.environ.get("ROUNDS") or 5)
SEED = int(os.environ.get("FLEET_SEED") or 1)
PLATES_PER_SECOND = float(os.environ.get("PLATES_PER_SECOND") or 1)
LOAD_SHARE = float(os.environ.get("FLEET_LOAD_SHARE") or 0.1)
"""Fraction of the machine's capacity that is sent as frames, in addition to the cameras' frames."""

pytestmark = [pytest.mark.fleet, pytest.mark.timeout(900 + 900 * ROUNDS)]

_PASSES = 4
# The cameras play two vehicles in 80 s, so that two cores can read the frames in time.
_CAMERA_PASSES = 2
_LOOP_SECONDS = 80
_SILENCE_SECONDS = 45
_CAMERAS = 2
_PAUSE_SECONDS = (3.0, 8.0)
_LATEST_SECONDS = 30.0
_ALERT = "any"


@dataclass
class Watched:
    """Cameras that ingest plays on both machines, and the times when frames may be missing."""

    api: Api
    ids: tuple[str, ...]
    plates: tuple[str, ...]
    cuts: list[float] = field(default_factory=list)

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop the cameras while the block runs; a running camera always has frames in flight."""
        self._enable(enabled=False)
        yield
        self._enable(enabled=True)

    def _enable(self, *, enabled: bool) -> None:
        since = time.time()
        for camera in self.ids:
            self.api.enable_camera(camera, enabled=enabled)
        self.harmed(since, time.time())

    def harmed(self, since: float, until: float) -> None:
        """Record a time range (Unix s) in which frames were interrupted."""
        moments = itertools.takewhile(lambda at: at < until, itertools.count(since, 5.0))
        self.cuts += [*moments, until]


def test_nothing_is_lost_or_doubled_and_no_alert_is_late(fleet_folder: Path, say: Say) -> None:
    chance = random.Random(SEED)
    with ExitStack() as open_things:
        receivers = open_things.enter_context(Receivers())
        fleet = open_things.enter_context(running_fleet(fleet_folder, receivers))
        for name in PROCESSES:
            fleet.wait_for_health(name)
        say("two machines and three brokers are up")
        made = open_scenery(
            fleet.stack,
            receivers,
            lambda: film(_PASSES),
            host=fleet.network.address,
        )
        scenery = open_things.enter_context(made)
        show_undisturbed(scenery)
        watched = open_things.enter_context(_watched_cameras(scenery, fleet_folder))
        saboteurs = Saboteurs(fleet, chance)
        late: list[str] = []
        for number, harm in zip(range(1, ROUNDS + 1), harms(chance), strict=False):
            say(f"round {number} of {ROUNDS}")
            found = _round(scenery, saboteurs, harm, watched, chance, say)
            late += [f"round {number}, {harm}: {each}" for each in found]
        _hold_cameras_to_account(scenery, watched)
        assert not late, "\n".join(late)


def _round(
    scenery: Scenery,
    saboteurs: Saboteurs,
    harm: Harm,
    watched: Watched,
    chance: random.Random,
    say: Say,
) -> list[Lateness]:
    """Inject a fault under load, and return the delays of alerts. Wrong results fail the test."""
    since, known = time.time(), set(scenery.sent_at)
    watch = Recoveries(Saboteur(scenery.stack), scenery.api, scenery.stages, None)
    with scenery.under_load(share=LOAD_SHARE, plates_per_second=PLATES_PER_SECOND):
        time.sleep(chance.uniform(*_PAUSE_SECONDS))
        done = saboteurs.cause(harm)
        recovery = watch.wait(done.what, done.is_there)
        watched.harmed(since, time.time())
    say(str(recovery))
    with watched.stopped():
        hold_to_account(scenery, say)
    received = tuple(scenery.receivers.web.received)
    mine = {one: at for one, at in scenery.sent_at.items() if one not in known}
    offset = time.time() - time.monotonic()
    lateness = (
        of_sent(mine, received, _ALERT),
        of_seen(watched.ids, received, _ALERT, unix_offset_seconds=offset, since=since),
    )
    for each in lateness:
        say(str(each))
    assert mine, "nothing was sent"
    assert recovery.is_in_time, f"not recovered within {RECOVERY_SECONDS} s: {recovery}"
    for each in lateness:
        assert not each.missing, each
    return [each for each in lateness if each.worst > _LATEST_SECONDS]


@contextmanager
def _watched_cameras(scenery: Scenery, folder: Path) -> Iterator[Watched]:
    clip = folder / "loop.mp4"
    footage = film(_CAMERA_PASSES)
    write_clip(footage, clip, seconds=_LOOP_SECONDS)
    # A stream can be registered only once per account, unless each camera has an identifier.
    ids = [
        scenery.api.create_camera(clip.as_uri(), identifier=f"fleet-{number}")
        for number in range(_CAMERAS)
    ]
    yield Watched(scenery.api, tuple(ids), footage.plates)
    for camera in ids:
        scenery.api.delete_camera(camera)


def _hold_cameras_to_account(scenery: Scenery, watched: Watched) -> None:
    """Check that plates are not repeated within the cooldown, and belong to the scene."""
    for camera in watched.ids:
        listed = scenery.api.recognitions(camera)
        assert {one.plate for one in listed} >= set(watched.plates), listed
        findings = judge_loop(
            watched.plates,
            listed,
            silence_seconds=_SILENCE_SECONDS - SKEW_SECONDS,
            cuts=watched.cuts,
        )
        assert not findings, findings
    received = tuple(scenery.receivers.web.received)
    assert of_seen(watched.ids, received, _ALERT, unix_offset_seconds=0, since=0).seconds
