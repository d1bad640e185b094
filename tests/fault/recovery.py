"""Kills a process and takes the time until the whole way works again, by itself."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from uuid import uuid4

import httpx
from kafka.errors import KafkaError

from contracts.errors import TransientError
from contracts.settings import KafkaSettings
from contracts.topics import FRAMES, READINGS, RECOGNITIONS, Topic
from deploy.local.supervisor import SupervisorUnreachableError
from tests.fault.api import Api
from tests.fault.stages import Stages
from tests.services.stack import RunningStack

BACK_SECONDS = 60
"""What the service promises."""

# Longer than the promise, so that a failure still tells how long it really took.
_GIVE_UP_SECONDS = 240
_POLL_SECONDS = 0.5

_AWAY = (httpx.HTTPError, KafkaError, OSError, TransientError, SupervisorUnreachableError)
_Step = tuple[str, Callable[[], bool]]


@dataclass
class Recovery:
    """One kill. ``reached`` holds for each step the seconds from the kill until it was there."""

    process: str
    killed_at: float = field(default_factory=time.time)
    reached: dict[str, float] = field(default_factory=dict)
    missing: str | None = None

    @property
    def seconds(self) -> float:
        """Seconds until everything was there again."""
        return max(self.reached.values(), default=0.0)

    @property
    def is_in_time(self) -> bool:
        """Whether everything was back within the time that is promised."""
        return self.missing is None and self.seconds <= BACK_SECONDS

    def __str__(self) -> str:
        """Return a line of a table."""
        steps = "  ".join(f"{step} {seconds:.1f}" for step, seconds in self.reached.items())
        missing = f"  NEVER: {self.missing}" if self.missing else ""
        return f"{self.process:12} {self.seconds:6.1f} s   ({steps}){missing}"


class Killer:
    """Kills processes of a stack that is under load.

    Back means, one after the other: the process is there; the API is ready and with it every
    server; Kafka knows its groups; frames are read, tracks followed and recognitions written for
    search further than they were (which includes the wait for the next pass); the camera is
    online; a new camera reaches an ingest worker (api, Postgres, relay, Kafka).
    """

    def __init__(self, stack: RunningStack, api: Api, camera_id: str | None) -> None:
        """Take the stack and a camera that ingest plays, if there is one."""
        self._stack = stack
        self._api = api
        self._camera_id = camera_id
        self._stages = Stages(stack.settings(KafkaSettings))
        self._done: dict[Topic, int] = {}

    def kill(self, process: str) -> Recovery:
        """Kill (SIGKILL) and wait until all is back, or it is clear that it does not come back."""
        old = self._stack.kill(process)
        recovery = Recovery(process)
        started = time.monotonic()
        for name, is_there in self._steps(process, old, recovery):
            while not _answers(is_there):
                if time.monotonic() - started > _GIVE_UP_SECONDS:
                    recovery.missing = name
                    return recovery
                time.sleep(_POLL_SECONDS)
            recovery.reached[name] = time.monotonic() - started
        return recovery

    def _steps(self, process: str, old: int, recovery: Recovery) -> Iterator[_Step]:
        yield "process", lambda: self._stack.pid(process) not in (0, old)
        yield "ready", self._api.is_ready
        yield "groups", self._note_progress
        yield "reading", lambda: self._stages.done()[FRAMES] > self._done[FRAMES]
        yield "tracking", lambda: self._stages.done()[READINGS] > self._done[READINGS]
        yield "sink", lambda: self._stages.done()[RECOGNITIONS] > self._done[RECOGNITIONS]
        if self._camera_id is not None:
            yield "camera", lambda: self._is_online_since(recovery.killed_at)
        yield "new camera", self._takes_a_camera

    def _note_progress(self) -> bool:
        self._done = self._stages.done()
        return True

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
