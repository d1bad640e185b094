"""Records can be encoded and decoded, and invalid records are reported as invalid."""

from uuid import UUID

import msgspec
import pytest

from common.errors import InvalidInputError, UnknownRecordVersionError
from common.records.alerts import (
    AlertCandidate,
    AlertConfig,
    AlertSchedule,
    AlertTrigger,
    CameraScope,
    CandidateKind,
    CooldownScope,
    EarlyTrigger,
    PlateMatchMode,
    ProvisionalKind,
    ProvisionalRecognition,
    TriggerPhase,
    Weekday,
)
from common.records.cameras import CameraConfig, CameraState, CameraStatus
from common.records.codec import DeadLetter, Record, decode, encode
from common.records.counts import CameraCounts, CaptureCounts, FrameCounts, PlatesLeft
from common.records.deliveries import (
    AppriseTarget,
    AttemptOutcome,
    CameraEvent,
    Delivery,
    DeliveryAttempt,
    EmailTarget,
    UrlTarget,
    WebhookStatus,
    WebhookTarget,
)
from common.records.frames import Box, FrameKind, FrameMeta, FrameReference, Point, Zone, ZoneKind
from common.records.owners import OwnerConfig
from common.records.recognitions import (
    CharacterOption,
    FollowedPlate,
    FrameReadings,
    PassOutcome,
    PlateReading,
    ProvisionalPlate,
    Recognition,
    RecognitionSource,
)
from common.records.topics import TOPICS
from common.records.webhooks import EventName, WebhookConfig

A = UUID("11111111-2222-4333-8444-555555555555")
BOX = Box(x=1.5, y=2, width=3, height=4)
READING = PlateReading(
    text="AB1",
    confidence=0.9,
    detection_confidence=0.8,
    box=BOX,
    positions=((CharacterOption(character="A", probability=0.9),),),
)
RECOGNITION = Recognition(
    id=A,
    owner_id=A,
    camera_id=A,
    camera_name="Gate",
    plate="AB1",
    confidence=0.9,
    character_confidences=(0.9, 0.8, 1.0),
    captured_ms=1,
    first_seen_ms=0,
    last_seen_ms=2,
    readings_count=3,
    box=BOX,
)
PROVISIONAL = msgspec.structs.replace(
    RECOGNITION,
    provisional_plates=(ProvisionalPlate(plate="AB1", confidence=0.9, captured_ms=1),),
)
ALERT = AlertConfig(
    alert_id=A,
    owner_id=A,
    name="Gate",
    description="",
    enabled=True,
    plate_match_mode=PlateMatchMode.SPECIFIC,
    plates=("AB*1",),
    camera_scope=CameraScope.SPECIFIC,
    camera_ids=(A,),
    schedule_enabled=True,
    schedule=AlertSchedule(days_of_week=(Weekday.MON,)),
    timezone="Europe/Lisbon",
    min_confidence=0.5,
    cooldown_minutes=0.5,
    cooldown_scope=CooldownScope.PLATE_CAMERA,
    match_tolerance=1,
    notifications_encrypted="x",
    notification_secret_encrypted="y",
    revision=1,
    created_ms=1,
)
CAMERA = CameraConfig(
    camera_id=A, owner_id=A, name="Gate", stream_url_encrypted="x", enabled=True, revision=1
)
STATUS = CameraStatus(
    camera_id=A, owner_id=A, state=CameraState.ONLINE, revision=1, worker="w", at_ms=1
)
DELIVERY = Delivery(
    id=A,
    endpoint="e",
    owner_id=A,
    target=WebhookTarget(webhook_id=A),
    event=EventName.RECOGNITION_CREATED,
    event_id=A,
    occurred_ms=1,
    created_ms=2,
    recognition=RECOGNITION,
)
EXAMPLES: tuple[Record, ...] = (
    FrameMeta(
        kind=FrameKind.FRAME,
        camera_id=A,
        owner_id=A,
        camera_name="Gate ü",
        captured_ms=1,
        zones=(Zone(kind=ZoneKind.EXCLUDE, points=(Point(x=0, y=0.5),)),),
        counts=CaptureCounts(since_ms=1, decoded=9, still=2, sent=3),
    ),
    FrameReadings(
        kind=FrameKind.FRAME,
        camera_id=A,
        owner_id=A,
        camera_name="Gate",
        captured_ms=1,
        frame=FrameReference(partition=0, offset=7),
        readings=(READING,),
        plates_left=PlatesLeft(small=1),
        followed=(FollowedPlate(track="1/2/3/0", box=BOX),),
        counts=CaptureCounts(since_ms=1, slow=2),
    ),
    CameraCounts(camera_id=A, owner_id=A, minute_ms=60_000, records=2, counts=FrameCounts(read=1)),
    RECOGNITION,
    CAMERA,
    STATUS,
    OwnerConfig(owner_id=A, limits={"alerts": 3}),
    DELIVERY,
    msgspec.structs.replace(
        DELIVERY,
        target=UrlTarget(alert_id=A, url_encrypted="x", secret_encrypted="y"),
        recognition=None,
        camera=CameraEvent(camera=CAMERA, status=STATUS),
    ),
    msgspec.structs.replace(DELIVERY, target=EmailTarget(alert_id=A, address_encrypted="x")),
    msgspec.structs.replace(DELIVERY, target=AppriseTarget(alert_id=A, url_encrypted="x")),
    DeliveryAttempt(
        id=A,
        delivery=DELIVERY,
        number=1,
        started_ms=1,
        duration_ms=2,
        outcome=AttemptOutcome.RETRYING,
        status=503,
        error="Received status 503.",
        next_attempt_ms=9,
        webhook_revision=3,
    ),
    WebhookStatus(webhook_id=A, owner_id=A, attempts_offset=3, failure_count=1),
    WebhookConfig(
        webhook_id=A,
        owner_id=A,
        name="Gate",
        url_encrypted="x",
        secret_encrypted="y",
        headers_encrypted="z",
        events=(EventName.RECOGNITION_CREATED,),
        enabled=True,
        revision=1,
    ),
    ALERT,
    AlertCandidate(alert=ALERT, recognition=RECOGNITION, published_ms=1),
    AlertTrigger(id=A, owner_id=A, alert=ALERT, recognition=RECOGNITION, decided_ms=1),
    PROVISIONAL,
    ProvisionalRecognition(
        kind=ProvisionalKind.RESOLVED, recognition=PROVISIONAL, final_recognition=RECOGNITION
    ),
    AlertCandidate(
        alert=ALERT,
        recognition=PROVISIONAL,
        published_ms=1,
        kind=CandidateKind.RESOLVED,
        may_be_early=True,
        final_recognition=RECOGNITION,
        is_match=True,
    ),
    AlertTrigger(
        id=A,
        owner_id=A,
        alert=ALERT,
        recognition=PROVISIONAL,
        decided_ms=2,
        phase=TriggerPhase.CORRECTED,
        early=EarlyTrigger(plate="AB1", captured_ms=1, decided_ms=1),
    ),
    PassOutcome(
        id=A, owner_id=A, camera_id=A, source=RecognitionSource.API, at_ms=1, accepted=False
    ),
    DeadLetter(
        stage="sink", topic="t", partition=0, offset=1, code="c", reason="r", at_ms=1, value=b"\xff"
    ),
)


def _names(record: Record) -> str:
    return type(record).__name__


@pytest.mark.parametrize("record", EXAMPLES, ids=_names)
def test_a_record_is_read_as_it_was_written(record: Record) -> None:
    assert decode(type(record), encode(record)) == record


def test_every_record_of_a_topic_has_an_example() -> None:
    assert {topic.record for topic in TOPICS} <= {type(record) for record in EXAMPLES}


@pytest.mark.parametrize("record", EXAMPLES, ids=_names)
def test_fields_of_a_newer_minor_release_are_ignored(record: Record) -> None:
    with_more = encode(record)[:-1] + b',"fieldOfTomorrow":1}'

    assert decode(type(record), with_more) == record


@pytest.mark.parametrize(
    "data", [b'{"version":2}', b"{}", b"[]", b'{"version":"1"}', b'{"version":null}']
)
def test_another_version_is_named_as_such(data: bytes) -> None:
    with pytest.raises(UnknownRecordVersionError) as caught:
        decode(Recognition, data)

    assert caught.value.code == "unknown_record_version"


@pytest.mark.parametrize(
    "data", [b"", b"\xff\xfe", b"{", b'{"version":1}', b'{"version":1,"id":3}']
)
def test_what_is_no_record_is_invalid_input(data: bytes) -> None:
    with pytest.raises(InvalidInputError) as caught:
        decode(Recognition, data)

    assert caught.value.code == "unreadable_record"
