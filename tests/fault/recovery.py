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

# Longer than the promised time, so that a failure shows the actual recovery time.
_GIVE_UP_SECONDS = max(240.0, 2 * RECOVERY_SECONDS)
_POLL_SECONDS = 0.5

_AWAY = (httpx.HTTPError, KafkaError, OSError, TransientError, SupervisorUnreachableError)
_Check = tuple[str, Callable[[], bool]]
_PROGRESS = (READING, TRACKING, STORING, MATCHING, FAN_OUT, DELIVERY)


@dataclass
class Recovery:
    """Recovery from a fault. ``reached`` has the seconds from ``since`` (Unix s) to each step."""

    after: str
    since: float = field(default_factory=time.time)
    reached: dict[str, float] = field(default_factory=dict)
    missing: str | None = None

    @property
    def seconds(self) -> float:
        """Seconds until the last step was reached."""
        return max(self.reached.values(), default=0.0)

    @property
    def is_in_time(self) -> bool:
        """Whether everything recovered within the promised time."""
        return self.missing is None and self.seconds <= RECOVERY_SECONDS

    def __str__(self) -> str:
        """Return the recovery as one line of a table."""
        steps = "  ".join(f"{step} {seconds:.1f}" for step, seconds in self.reached.items())
        missing = f"  NEVER: {self.missing}" if self.missing else ""
        return f"{self.after:34} {self.seconds:6.1f} s   ({steps}){missing}"


class Recoveries:
    """Watches the recovery of a stack under load.

    Steps, in order: the process runs; the API and every server are ready; Kafka knows its groups;
    every stage commits further offsets, from frames to deliveries (which includes the wait for the
    next pass); the camera is online; a new camera reaches an ingest worker (through API, Postgres,
    relay and Kafka).
    """

    def __init__(self, saboteur: Saboteur, api: Api, stages: Stages, camera_id: str | None) -> None:
        """``saboteur`` injects the faults. ``camera_id`` is a camera that ingest plays, if any."""
        self._saboteur = saboteur
        self._api = api
        self._camera_id = camera_id
        self._stages = stages
        self._done: dict[Step, int] = {}

    def harm(self, fault: Fault) -> Recovery:
        """Inject a fault, wait as :meth:`wait` does, and return the recovery."""
        is_there = self._saboteur.cause(fault)
        return self.wait(str(fault), is_there)

    def wait(self, after: str, is_there: Callable[[], bool]) -> Recovery:
        """Return once ``is_there`` and all other checks succeed, or the time limit is reached."""
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
