"""Records of the recognitions, sightings and outcomes topics, made from tracks. Pure."""

from collections.abc import Mapping
from uuid import UUID

from common.records.alerts import ProvisionalKind, ProvisionalRecognition
from common.records.ids import missed_pass_id, recognition_id
from common.records.recognitions import FrameReadings, PassOutcome, Recognition, RecognitionSource
from streams.recognition.tracking.passes import Pass
from streams.recognition.tracking.provisional import Retracted
from streams.recognition.tracking.suppression import SuppressedPlate
from streams.recognition.tracking.tracks import Track


def pass_id(camera_id: UUID, resolved: Pass) -> UUID:
    """Return the id of the recognition that a pass becomes, from its beginning on."""
    return recognition_id(resolved.first_seen_ms, camera_id, resolved.track)


def recognition_of(frame: FrameReadings, resolved: Pass) -> Recognition:
    """Return the recognition of a pass, without images; ``frame`` is the one that ended it."""
    return Recognition(
        id=pass_id(frame.camera_id, resolved),
        owner_id=frame.owner_id,
        camera_id=frame.camera_id,
        camera_name=frame.camera_name,
        plate=resolved.plate,
        confidence=resolved.confidence,
        character_confidences=resolved.probabilities,
        alternatives=resolved.alternatives,
        captured_ms=resolved.best.captured_ms,
        first_seen_ms=resolved.first_seen_ms,
        last_seen_ms=resolved.last_seen_ms,
        readings_count=resolved.readings_count,
        box=resolved.best.box,
        region=resolved.best.region,
        region_confidence=resolved.best.region_confidence,
        plate_type=resolved.best.plate_type,
        provisional_plates=resolved.provisional_plates,
        direction=resolved.direction,
    )


def provisional_of(frame: FrameReadings, seen: Pass) -> ProvisionalRecognition:
    """Return the provisional recognition of a pass that is not over; the same in every replay."""
    provisional = recognition_of(frame, seen)
    return ProvisionalRecognition(kind=ProvisionalKind.AGREED, recognition=provisional)


def retraction_of(
    frame: FrameReadings, retracted: Retracted, published: Mapping[str, Recognition]
) -> ProvisionalRecognition:
    """Return the end of a reported track that is no recognition; the same in every replay.

    ``published`` are the recognitions of passes that ended with it, by the names of their tracks.
    """
    track = retracted.track
    last = track.provisional_plates[-1]
    provisional = Recognition(
        id=recognition_id(track.first_seen_ms, frame.camera_id, track.name),
        owner_id=frame.owner_id,
        camera_id=frame.camera_id,
        camera_name=frame.camera_name,
        plate=last.plate,
        confidence=last.confidence,
        character_confidences=(),
        captured_ms=last.captured_ms,
        first_seen_ms=track.first_seen_ms,
        last_seen_ms=track.last_seen_ms,
        readings_count=track.readings_count,
        provisional_plates=track.provisional_plates,
    )
    return ProvisionalRecognition(
        kind=ProvisionalKind.RESOLVED,
        recognition=provisional,
        final_recognition=_final_recognition(retracted.suppressed_by, published),
    )


def _final_recognition(
    suppressed_by: SuppressedPlate | None, published: Mapping[str, Recognition]
) -> Recognition | None:
    if suppressed_by is None:
        return None
    return suppressed_by.recognition or published.get(suppressed_by.track)


def missed_pass_of(frame: FrameReadings, track: Track) -> PassOutcome:
    """Return the outcome of a track without an accepted reading, the same in every replay."""
    return PassOutcome(
        id=missed_pass_id(track.first_seen_ms, frame.camera_id, track.name),
        owner_id=frame.owner_id,
        camera_id=frame.camera_id,
        source=RecognitionSource.CAMERA,
        at_ms=track.first_seen_ms,
        accepted=False,
    )
