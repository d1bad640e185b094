"""Every result arrives exactly once although every process is killed or cut off under load.

In a round, faults follow each other without waiting for the pipeline to recover, in a seeded order:
every process and inference worker is killed, one stage is frozen, and the second workers are cut
off from Kafka for longer than their session while all other processes run. One round is part of
every test run. ``ROUNDS=20 pytest -m fault`` runs twenty rounds with two workers of every process.
There, workers are also frozen, one of three brokers is unavailable, and a first worker is frozen
and another one killed while the second workers are cut off. A second test injects each fault alone,
including freezes and full disks, and measures the recovery. ``FAULT_ONLY=freeze`` selects the
faults whose name contains "freeze". ``FAULT_SEED`` sets the order and the times of the faults.
"""

import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.fault.account import hold_to_account
from tests.fault.conftest import ROUNDS, Say
from tests.fault.faults import (
    APPLICATION,
    KILLS,
    RECOVERY_SECONDS,
    SERVERS,
    TWICE,
    TWICE_IN_SHORT,
    WORKER_KILLS,
    Fault,
    FaultKind,
    Saboteur,
    cut,
    fills,
    freezes,
    in_seeded_order,
    kills_of_seconds,
    without_brokers,
)
from tests.fault.footage import write_clip
from tests.fault.ledger import judge_loop
from tests.fault.recovery import Recoveries, Recovery
from tests.fault.scenery import Scenery
from tests.services.stack import second_name
from tests.waiting import wait_until

SEED = int(os.environ.get("FAULT_SEED") or 1)
ONLY = os.environ.get("FAULT_ONLY") or ""
PLATES_PER_SECOND = float(os.environ.get("PLATES_PER_SECOND") or 5)

pytestmark = [pytest.mark.fault, pytest.mark.timeout(900 + 2400 * ROUNDS)]

_TWICE = TWICE if ROUNDS else TWICE_IN_SHORT
_KILLS = (*KILLS, *WORKER_KILLS, *kills_of_seconds(_TWICE))
_STAGES = ("recognition", "sink", "alerts", "webhooks")
_PAUSE_SECONDS = (2.0, 8.0)
_SHORT_PAUSE_SECONDS = (0.5, 3.0)
# Freezes last longer than the session of a group member and than the timeout of a server call.
_FREEZE_SECONDS = 15.0
_SHORT_FREEZE_SECONDS = 7.0
_FULL_SECONDS = 10.0
# The cut lasts longer than a session too, so that the group removes the second workers.
_CUT_SECONDS = 9.0
_BROKER_AWAY_SECONDS = 30.0
# The loop is longer than the cooldown, so that a plate is reported again.
_LOOP_SECONDS = 80
_SILENCE_SECONDS = 45
_DRAIN_SECONDS = 600
_POLL_SECONDS = 1.0
# Frame rate, as a fraction of the rate that this machine can read without other work.
_LOAD_SHARE = 0.4


def test_all_comes_out_once_when_one_fault_follows_another(scenery: Scenery, say: Say) -> None:
    chance = random.Random(SEED)
    for number in range(1, max(ROUNDS, 1) + 1):
        say(f"round {number} of {max(ROUNDS, 1)}")
        frozen = freezes(_SHORT_FREEZE_SECONDS, chance.sample(_STAGES, 1))
        if ROUNDS:
            # When a frozen worker resumes, the other worker has taken over its partitions.
            either = [*TWICE, *map(second_name, TWICE)]
            frozen += freezes(_FREEZE_SECONDS, chance.sample(either, 2))
            frozen += tuple(chance.sample(without_brokers(_BROKER_AWAY_SECONDS), 1))
        faults = in_seeded_order([*_KILLS, *frozen, cut(_CUT_SECONDS)], chance)
        recovery = _cause_all(scenery, faults, chance)
        say(str(recovery))
        hold_to_account(scenery, say)
        assert recovery.missing is None, str(recovery)
        # Other tests run during the short round. The twenty rounds run without other tests.
        assert recovery.is_in_time or not ROUNDS, f"took over {RECOVERY_SECONDS} s: {recovery}"


def _cause_all(scenery: Scenery, faults: list[Fault], chance: random.Random) -> Recovery:
    saboteur = Saboteur(scenery.stack)
    watch = Recoveries(saboteur, scenery.api, scenery.stages, None)
    with scenery.under_load(share=_LOAD_SHARE, plates_per_second=PLATES_PER_SECOND):
        for fault in faults:
            time.sleep(chance.uniform(*_SHORT_PAUSE_SECONDS))
            if fault.kind is FaultKind.CUT and ROUNDS:
                is_there = _cause_at_once(saboteur, chance)
            else:
                is_there = saboteur.cause(fault)
        return watch.wait(f"{len(faults)} faults", is_there)


def _cause_at_once(saboteur: Saboteur, chance: random.Random) -> Callable[[], bool]:
    """Cut the second workers off, kill a first worker, and freeze another one. Return a function
    that checks whether the killed worker runs again.
    """
    killed, frozen = chance.sample(_STAGES, 2)
    with saboteur.cut_off():
        is_there = saboteur.cause(Fault(FaultKind.KILL, killed))
        saboteur.cause(Fault(FaultKind.FREEZE, frozen, _FREEZE_SECONDS))
    return is_there


@pytest.mark.long
@pytest.mark.skipif(ROUNDS == 0, reason="a long measurement: ROUNDS=1 make fault")
def test_each_fault_alone_is_over_within_a_minute(
    scenery: Scenery, has_quotas: bool, tmp_path: Path, say: Say
) -> None:
    chance = random.Random(SEED)
    frozen = freezes(_FREEZE_SECONDS, (*SERVERS, *APPLICATION))
    frozen += freezes(_FREEZE_SECONDS, [second_name(stage) for stage in TWICE])
    all_faults = [
        *_KILLS,
        *frozen,
        *without_brokers(_BROKER_AWAY_SECONDS),
        *(fills(_FULL_SECONDS) if has_quotas else ()),
        cut(_FREEZE_SECONDS),
    ]
    faults = [fault for fault in all_faults if ONLY in str(fault)]
    if not has_quotas:
        say("no disk is filled: this user may not mount a file system")
    recoveries: list[Recovery] = []
    with _looping_camera(scenery, tmp_path) as looping:
        watch = Recoveries(Saboteur(scenery.stack), scenery.api, scenery.stages, looping)
        with scenery.under_load(share=_LOAD_SHARE, plates_per_second=PLATES_PER_SECOND):
            for fault in in_seeded_order(faults, chance):
                time.sleep(chance.uniform(*_PAUSE_SECONDS))
                recoveries.append(watch.harm(fault))
                say(str(recoveries[-1]))
                assert recoveries[-1].missing is None, recoveries[-1]
        _wait_for_a_later_pass(scenery, looping, recoveries)
        loop = scenery.api.recognitions(looping)
    hold_to_account(scenery, say)
    cuts = [each.since for each in recoveries if "ingest" in each.after]
    findings = judge_loop(scenery.footage.plates, loop, silence_seconds=_SILENCE_SECONDS, cuts=cuts)
    assert not findings, findings
    late = [str(each) for each in recoveries if not each.is_in_time]
    assert not late, f"not recovered within {RECOVERY_SECONDS} s: {late}"


@contextmanager
def _looping_camera(scenery: Scenery, folder: Path) -> Iterator[str]:
    clip = folder / "loop.mp4"
    write_clip(scenery.footage, clip, seconds=_LOOP_SECONDS)
    camera = scenery.api.create_camera(clip.as_uri())
    wait_until(
        "the first pass",
        lambda: bool(scenery.api.recognitions(camera)),
        2 * _LOOP_SECONDS,
        _POLL_SECONDS,
    )
    yield camera
    scenery.api.delete_camera(camera)


def _wait_for_a_later_pass(scenery: Scenery, camera: str, recoveries: list[Recovery]) -> None:
    last = max(each.since + each.seconds for each in recoveries)
    moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(last))
    wait_until(
        f"a pass on the looping camera after {moment}",
        lambda: scenery.api.recognitions(camera)[0].timestamp > moment,
        2 * _LOOP_SECONDS + _DRAIN_SECONDS,
        _POLL_SECONDS,
    )
