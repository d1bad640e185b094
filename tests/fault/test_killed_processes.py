"""Every process is killed under load, and every pass comes out once all the same.

A short round is part of every test run; ``ROUNDS=2 pytest -m fault`` kills all nine processes in
each of two rounds. ``FAULT_SEED`` chooses order and moments.
"""

import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

import msgspec
import pytest

from contracts.settings import KafkaSettings
from deploy.local.servers.base import CLONE
from synthetic.score import score_passes
from tests.fault.api import Api, Listed
from tests.fault.footage import Footage, film, write_clip
from tests.fault.ledger import judge_loop, judge_shows, repeated_ids
from tests.fault.load import Cameras, Load
from tests.fault.recovery import BACK_SECONDS, Killer, Recovery
from tests.fault.stages import Stages
from tests.services.stack import RunningStack

ROUNDS = int(os.environ.get("ROUNDS") or 0)
SEED = int(os.environ.get("FAULT_SEED") or 1)

pytestmark = [
    pytest.mark.fault,
    pytest.mark.timeout(900 + 1800 * ROUNDS),
]

_SHORT_ROUND = ("recognition", "sink", "kafka", "clickhouse", "s3")
_ALL = (*_SHORT_ROUND, "postgres", "relay", "api", "ingest")
_PAUSE_SECONDS = (2.0, 8.0)
_PASSES = 8
_SCENE_SEED = 3
# The looping camera shows a plate again only after the time in which it has to stay silent.
_LOOP_SECONDS = 80
_SILENCE_SECONDS = 45
_DRAIN_SECONDS = 600
_POLL_SECONDS = 1.0
# Part of what this machine reads when it does nothing else.
_LOAD_SHARE = 0.5

_SETTINGS = {
    # The test looks often, and the backlog of a slow machine must not be let go as stale.
    "RATE_LIMIT_PER_MINUTE": "0",
    "READING_DEADLINE_SECONDS": "1800",
}


class _Owner(msgspec.Struct):
    id: UUID


class _Owners(msgspec.Struct):
    owners: tuple[_Owner, ...]


@dataclass(frozen=True)
class Scenery:
    """What the tests of this module share: the stack, its clients, and the scene to show."""

    stack: RunningStack
    api: Api
    stages: Stages
    footage: Footage
    cameras: Cameras


@pytest.fixture(scope="module")
def scenery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scenery]:
    """A stack in a folder of its own; its logs are kept."""
    footage = film(_PASSES, _SCENE_SEED)
    with ExitStack() as open_things:
        folder = Path(
            open_things.enter_context(
                TemporaryDirectory(prefix="platestream-fault-", ignore_cleanup_errors=True)
            )
        )
        logs = tmp_path_factory.mktemp("fault") / "logs"
        open_things.callback(shutil.copytree, folder / "logs", logs)
        stack = open_things.enter_context(RunningStack(folder, _SETTINGS))
        api = Api(stack.access.base_url, stack.access.api_key)
        open_things.callback(api.close)
        kafka = stack.settings(KafkaSettings)
        cameras = Cameras(kafka, _owner_id(stack), footage)
        open_things.callback(cameras.close)
        yield Scenery(stack, api, Stages(kafka), footage, cameras)


def test_every_pass_comes_out_once_whatever_is_killed(
    scenery: Scenery, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected, frames_per_second = _undisturbed(scenery)
    looping = _looping_camera(scenery, tmp_path) if ROUNDS else None
    killer = Killer(scenery.stack, scenery.api, looping)
    with Load(scenery.cameras, _LOAD_SHARE * frames_per_second):
        recoveries = _kill_in_turn(killer, capsys)
    if looping is not None:
        _wait_for_a_later_pass(scenery, looping, recoveries)
        scenery.api.delete_camera(looping)
    _until_drained(scenery)

    listed = scenery.api.recognitions()
    shows = [str(show.camera_id) for show in scenery.cameras.shows]
    _say(capsys, f"{len(shows)} shows of {len(expected)} passes, {len(listed)} recognitions")
    dead_letters = scenery.stages.dead_letters()
    assert not dead_letters, dead_letters
    assert not repeated_ids(listed)
    published = scenery.stages.recognitions()
    findings = judge_shows(shows, expected, listed, published)
    assert not findings, findings
    if looping is not None:
        loop = [one for one in listed if one.camera_id == looping]
        cuts = [recovery.killed_at for recovery in recoveries if recovery.process == "ingest"]
        findings = judge_loop(
            scenery.footage.plates, loop, silence_seconds=_SILENCE_SECONDS, cuts=cuts
        )
        assert not findings, findings
    assert _dangling(scenery.api, listed) == {}
    late = [str(recovery) for recovery in recoveries if not recovery.is_in_time]
    assert not late, f"not back within {BACK_SECONDS} s: {late}"


def _undisturbed(scenery: Scenery) -> tuple[set[str], float]:
    """Show the scene once, and return its plates as they are read here and the frames a second."""
    started = time.monotonic()
    show = scenery.cameras.show(None)
    _until_drained(scenery)
    seconds = time.monotonic() - started
    plates = [one.plate for one in scenery.api.recognitions(str(show.camera_id))]
    score = score_passes(scenery.footage.plates, plates)
    assert not (score.doubled or score.invented or score.right_share < 0.75), score
    return set(plates), len(scenery.footage.shots) / seconds


def _kill_in_turn(killer: Killer, capsys: pytest.CaptureFixture[str]) -> list[Recovery]:
    chance = random.Random(SEED)
    recoveries: list[Recovery] = []
    for _ in range(max(1, ROUNDS)):
        processes = list(_ALL if ROUNDS else _SHORT_ROUND)
        chance.shuffle(processes)
        for process in processes:
            time.sleep(chance.uniform(*_PAUSE_SECONDS))
            recoveries.append(killer.kill(process))
            _say(capsys, str(recoveries[-1]))
            assert recoveries[-1].missing is None, recoveries[-1]
    return recoveries


def _looping_camera(scenery: Scenery, folder: Path) -> str:
    clip = folder / "loop.mp4"
    write_clip(scenery.footage, clip, seconds=_LOOP_SECONDS)
    camera = scenery.api.create_camera(clip.as_uri())
    _wait("the first pass", lambda: bool(scenery.api.recognitions(camera)), _LOOP_SECONDS)
    return camera


def _wait_for_a_later_pass(scenery: Scenery, camera: str, recoveries: list[Recovery]) -> None:
    last = max(r.killed_at + r.seconds for r in recoveries if r.process == "ingest")
    moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(last))
    _wait(
        f"a pass on the looping camera after {moment}",
        lambda: scenery.api.recognitions(camera)[0].timestamp > moment,
        2 * _LOOP_SECONDS + _DRAIN_SECONDS,
    )


def _until_drained(scenery: Scenery) -> None:
    _wait("nothing under way", lambda: not any(scenery.stages.lag().values()), _DRAIN_SECONDS)


def _wait(what: str, is_there: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not is_there():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(_POLL_SECONDS)


def _dangling(api: Api, listed: list[Listed]) -> dict[str, list[str]]:
    faults = {one.id: api.picture_faults(one.id) for one in listed}
    return {identifier: found for identifier, found in faults.items() if found}


def _owner_id(stack: RunningStack) -> UUID:
    answer = subprocess.run(
        (sys.executable, "-m", "api.cli", "owner", "list", "--json"),
        cwd=CLONE,
        env=stack.environment,
        capture_output=True,
        check=True,
        timeout=60,
    )
    return msgspec.json.decode(answer.stdout, type=_Owners).owners[0].id


def _say(capsys: pytest.CaptureFixture[str], line: str) -> None:
    with capsys.disabled():
        sys.stdout.write(f"\n    {line}")
        sys.stdout.flush()
