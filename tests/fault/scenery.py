"""A whole stack under load, with its receivers and a comparison of its input and output."""

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from uuid import UUID

import msgspec
from kafka.errors import KafkaError

from common.errors import TransientError
from common.records.recognitions import Recognition
from common.records.webhooks import EventName
from common.settings import ClickHouseSettings, KafkaSettings
from deploy.local.servers.base import CLONE
from tests.fault.api import Api
from tests.fault.footage import Footage
from tests.fault.image_calls import ImageCalls
from tests.fault.load import Cameras, Load
from tests.fault.plates import Plates
from tests.fault.receivers import ALL, Receivers
from tests.fault.rows import count_rows
from tests.fault.rules import GATE, RULES
from tests.fault.stages import Stages
from tests.fault.verdict import Evidence, Verdict, judge
from tests.road import score_passes
from tests.services.stack import RunningStack
from tests.waiting import wait_until

SETTINGS = {
    # The test reads often, and frames of a slow machine's backlog must not expire.
    "RATE_LIMIT_PER_MINUTE": "0",
    "RATE_LIMIT_RECOGNIZE_PER_MINUTE": "0",
    "streams.recognition.app.DEADLINE_MS": "1800000",
    "streams.runtime.app.SESSION_TIMEOUT_SECONDS": "6",
    "ingest.assignment.follower.SESSION_TIMEOUT_SECONDS": "6",
    # The receivers run on this machine, and retries after hours would outlast the test.
    "WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
    "WEBHOOK_RETRY_SECONDS": ",".join(["1", "2", "4", "8", *["10"] * 90]),
    "SMTP_HOST": "127.0.0.1",
    "SMTP_ENCRYPTION": "none",
    "MESSAGES_PER_ADDRESS_PER_HOUR": "1000000",
    "common.mail.server.PER_OWNER_PER_HOUR": "0",
}
_DRAIN_SECONDS = 600
_POLL_SECONDS = 1.0
_CALL_PAUSE_SECONDS = 2.0
_CREDITS_SECONDS = 90


class _Owner(msgspec.Struct):
    id: UUID


class _Owners(msgspec.Struct):
    owners: tuple[_Owner, ...]


@dataclass
class Scenery:
    """State shared by the tests in this folder. ``frames_per_second`` is the capacity of the
    machine, ``image`` shows a plate, and ``sent_at`` has the time (monotonic s) at which each of
    ``sent`` was sent.
    """

    stack: RunningStack
    receivers: Receivers
    footage: Footage
    api: Api
    stages: Stages
    cameras: Cameras
    owner_id: UUID
    webhook_id: str
    frames_per_second: float = 0.0
    expected_plates: frozenset[str] = frozenset()
    image: bytes = b""
    sent: list[Recognition] = field(default_factory=list)
    sent_at: dict[UUID, float] = field(default_factory=dict)
    plates_begun: int = 0
    image_plates: Counter[str] = field(default_factory=Counter)

    @contextmanager
    def under_load(self, *, share: float, plates_per_second: float) -> Iterator[None]:
        """Send frames, recognitions and image calls while the block runs. Afterwards, check that
        each image call has cost one credit.

        ``share`` is the cameras' frame rate as a fraction of the capacity of the machine.
        """
        balance = self.api.credits()
        calls = ImageCalls(
            self.stack.base_urls,
            self.stack.access.api_key,
            self.image,
            pause_seconds=_CALL_PAUSE_SECONDS,
        )
        kafka = self.stack.settings(KafkaSettings)
        plates = Plates(kafka, self.owner_id, rate_hz=plates_per_second, first=self.plates_begun)
        with Load(self.cameras, share * self.frames_per_second), plates, calls:
            yield
        self.sent += plates.sent
        self.sent_at |= plates.sent_at
        self.plates_begun = plates.begun
        assert not calls.faults, calls.faults
        for call in calls.answered:
            self.image_plates.update(call.plates)
        # Credits reserved by an interrupted call are refunded after half a minute.
        wait_until(
            f"one credit for each of {len(calls.answered)} calls",
            lambda: balance - self.api.credits() == len(calls.answered),
            _CREDITS_SECONDS,
            _POLL_SECONDS,
        )

    def until_nothing_is_open(self) -> Verdict:
        """Wait until nothing is in flight and every delivery has arrived; return the verdict."""
        wait_until(
            "nothing in flight",
            self._is_all_done,
            _DRAIN_SECONDS,
            _POLL_SECONDS,
        )
        deadline = time.monotonic() + _DRAIN_SECONDS
        # Failed deliveries are retried later. Until then they do not appear in the lag of a topic.
        while (verdict := self.verdict()).is_open and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
        return verdict

    def _is_all_done(self) -> bool:
        try:
            return not any(self.stages.lag().values())
        except (KafkaError, TransientError):
            # Groups are moving to another broker.
            return False

    def verdict(self) -> Verdict:
        """Return the faults that a comparison of the input with the output finds."""
        clickhouse = self.stack.settings(ClickHouseSettings)
        return judge(
            Evidence(
                sent=self.sent,
                entered=self.stages.recognitions(),
                rows=count_rows(clickhouse, "recognitions"),
                triggers=self.stages.alerts(),
                alert_rows=count_rows(clickhouse, "alert_triggers"),
                received=self.receivers.received(),
            ),
            RULES,
        )


@contextmanager
def open_scenery(
    stack: RunningStack,
    receivers: Receivers,
    film: Callable[[], Footage],
    *,
    host: str = "127.0.0.1",
) -> Iterator[Scenery]:
    """Create alerts and a webhook on a running stack, and yield clients of its servers.

    ``host`` is the address at which the stack reaches the receivers.
    """
    with ExitStack() as open_things:
        api = Api(stack.access.base_url, stack.access.api_key, stack.ready_url)
        open_things.callback(api.close)
        webhook_id = api.create_webhook(
            receivers.web.url(ALL, host),
            EventName.RECOGNITION_CREATED,
            EventName.ALERT_TRIGGERED,
            EventName.ALERT_CONFIRMED,
        )
        for rule in RULES:
            api.create_alert(rule.body(receivers.web.url(GATE, host)))
        # Decoding takes longer than the second after which a new alert takes effect.
        footage = film()
        kafka = stack.settings(KafkaSettings)
        owner_id = owner_of(stack)
        cameras = Cameras(kafka, owner_id, footage)
        open_things.callback(cameras.close)
        yield Scenery(stack, receivers, footage, api, Stages(kafka), cameras, owner_id, webhook_id)


def owner_of(stack: RunningStack) -> UUID:
    answer = subprocess.run(
        (sys.executable, "-m", "api.cli", "owner", "list", "--json"),
        cwd=CLONE,
        env=stack.environment,
        capture_output=True,
        check=True,
        timeout=180,
    )
    return msgspec.json.decode(answer.stdout, type=_Owners).owners[0].id


def show_undisturbed(scenery: Scenery) -> None:
    """Show the scene once without faults, and record its plates and the frames read per second."""
    started = time.monotonic()
    show = scenery.cameras.show(None)
    verdict = scenery.until_nothing_is_open()
    seconds = time.monotonic() - started
    assert not verdict, verdict
    plates = [one.plate for one in scenery.api.recognitions(str(show.camera_id))]
    score = score_passes(scenery.footage.plates, plates)
    assert not (score.doubled or score.invented or score.right_share < 0.75), score
    scenery.expected_plates = frozenset(plates)
    scenery.frames_per_second = len(scenery.footage.shots) / seconds
    shots = scenery.footage.shots
    scenery.image = next(s.jpeg for s in shots[:: len(shots) // 12] if scenery.api.reads(s.jpeg))
