"""Injects a fault into a process and measures the time until the whole pipeline works again."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from uuid import uuid4

import httpx
from kafka.errors import KafkaError

from common.errors import TransientError
from deploy.local.supervisor import SupervisorUnreachableError
from tests.fault.api import Api
from tests.fault.faults import RECOVERY_SECONDS, Fault, Saboteur
from tests.fault.stages import (
    DELIVERY,
    FAN_OUT,
    MATCHING,
    READING,
    STORING,
    TRACKING,
    Stages,
    Step,
)

# Longer than the promise, so that a failure still shows how long it really took.
_GIVE_UP_SECONDS = max(240.0, 2 * RECOVERY_SECONDS)
_POLL_SECONDS = 0.5

_AWAY = (httpx.HTTPError, KafkaError, OSError, TransientError, SupervisorUnreachableError)
_Check = tuple[str, Callable[[], bool]]
_PROGRESS = (READING, TRACKING, STORING, MATCHING, FAN_OUT, DELIVERY)


@dataclass
class Recovery:
    """``reached`` holds for each step the seconds from ``since`` (Unix s) until it was there."""

    after: str
    since: float = field(default_factory=time.time)
    reached: dict[str, float] = field(default_factory=dict)
    missing: str | None = None

    @property
    def seconds(self) -> float:
        """Seconds until everything was there again."""
        return max(self.reached.values(), default=0.0)

    @property
    def is_in_time(self) -> bool:
        """Whether everything had recovered within the time that is promised."""
        return self.missing is None and self.seconds <= RECOVERY_SECONDS

    def __str__(self) -> str:
        """Return a line of a table."""
        steps = "  ".join(f"{step} {seconds:.1f}" for step, seconds in self.reached.items())
        missing = f"  NEVER: {self.missing}" if self.missing else ""
        return f"{self.after:34} {self.seconds:6.1f} s   ({steps}){missing}"


class Recoveries:
    """Watches a stack that is under load recover.

    Back means, one after the other: the process is there; the API is ready and with it every
    server; Kafka knows its groups; frames are read, tracks followed, recognitions written for
    search, held against alerts, fanned out and delivered further than they were (which includes
    the wait for the next pass); the camera is online; a new camera reaches an ingest worker (api,
    Postgres, relay, Kafka).
    """

    def __init__(self, saboteur: Saboteur, api: Api, stages: Stages, camera_id: str | None) -> None:
        """Take who harms the stack, and a camera that ingest plays, if there is one."""
        self._saboteur = saboteur
        self._api = api
        self._camera_id = camera_id
        self._stages = stages
        self._done: dict[Step, int] = {}

    def harm(self, fault: Fault) -> Recovery:
        """Cause a fault and wait until all has recovered, or clearly does not recover."""
        is_there = self._saboteur.cause(fault)
        return self.wait(str(fault), is_there)

    def wait(self, after: str, is_there: Callable[[], bool]) -> Recovery:
        """Wait from now on until ``is_there`` and everything else has recovered."""
        recovery = Recovery(after)
        started = time.monotonic()
        for name, check in self._steps(is_there, recovery):
            while not _answers(check):
                if time.monotonic() - started > _GIVE_UP_SECONDS:
                    recovery.missing = name
                    return recovery
                time.sleep(_POLL_SECONDS)
            recovery.reached[name] = time.monotonic() - started
        return recovery

    def _steps(self, is_there: Callable[[], bool], recovery: Recovery) -> Iterator[_Check]:
        yield "process", is_there
        yield "ready", self._api.is_ready
        yield "groups", self._note_progress
        for step in _PROGRESS:
            yield str(step), partial(self._has_gone_on, step)
        if self._camera_id is not None:
            yield "camera", lambda: self._is_online_since(recovery.since)
        yield "new camera", self._takes_a_camera

    def _note_progress(self) -> bool:
        self._done = self._stages.done()
        return True

    def _has_gone_on(self, step: Step) -> bool:
        return self._stages.done()[step] > self._done[step]

    def _is_online_since(self, moment: float) -> bool:
        assert self._camera_id is not None
        camera = self._api.camera(self._camera_id)
        seen = camera["lastSeenAt"]
        is_fresh = seen is not None and datetime.fromisoformat(seen).timestamp() > moment
        return camera["status"] == "online" and is_fresh

    def _takes_a_camera(self) -> bool:
        camera = self._api.create_camera(
            "http://127.0.0.1:9/", enabled=False, identifier=f"probe-{uuid4()}"
        )
        self._api.delete_camera(camera)
        return True


def _answers(is_there: Callable[[], bool]) -> bool:
    try:
        return is_there()
    except _AWAY:
        return False
