"""From a track to its record on the recognitions, sightings or outcomes topic. Pure."""

from collections.abc import Mapping
from uuid import UUID

from contracts.alert_records import AlertSighting, SightingKind
from contracts.ids import missed_pass_id, recognition_id
from contracts.readings import FrameReadings
from contracts.recognitions import PassOutcome, Recognition, RecognitionSource
from streams.recognition.early import Dismissed
from streams.recognition.passes import Pass
from streams.recognition.silence import Silence
from streams.recognition.tracks import Track


def pass_id(camera_id: UUID, settled: Pass) -> UUID:
    """Return the id of the recognition that a pass becomes, from its beginning on."""
    return recognition_id(settled.first_seen_ms, camera_id, settled.track)


def recognition_of(
    frame: FrameReadings, settled: Pass, photo_key: str | None, crop_key: str | None
) -> Recognition:
    """Return the recognition of a pass; ``frame`` is the one that settled it."""
    return Recognition(
        id=pass_id(frame.camera_id, settled),
        owner_id=frame.owner_id,
        camera_id=frame.camera_id,
        camera_name=frame.camera_name,
        plate=settled.plate,
        confidence=settled.confidence,
        character_confidences=settled.probabilities,
        captured_ms=settled.best.captured_ms,
        first_seen_ms=settled.first_seen_ms,
        last_seen_ms=settled.last_seen_ms,
        readings_count=settled.readings_count,
        box=settled.best.box,
        photo_key=photo_key,
        crop_key=crop_key,
        region=settled.best.region,
        plate_type=settled.best.plate_type,
        sighted=settled.sighted,
    )


def sighting_of(frame: FrameReadings, seen: Pass) -> AlertSighting:
    """Return what is told of a pass that is not over; the same in every replay."""
    provisional = recognition_of(frame, seen, None, None)
    return AlertSighting(kind=SightingKind.AGREED, recognition=provisional)


def dismissal_of(
    frame: FrameReadings, dismissed: Dismissed, published: Mapping[str, Recognition]
) -> AlertSighting:
    """Return what is told of a sighted track that is no recognition; the same in every replay.

    ``published`` are the recognitions of passes that ended with it, by the names of their tracks.
    """
    track = dismissed.stray
    last = track.sighted[-1]
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
        sighted=track.sighted,
    )
    return AlertSighting(
        kind=SightingKind.SETTLED,
        recognition=provisional,
        came_out=_came_out(dismissed.silence, published),
    )


def _came_out(silence: Silence | None, published: Mapping[str, Recognition]) -> Recognition | None:
    if silence is None:
        return None
    return silence.recognition or published.get(silence.track)


def missed_pass_of(frame: FrameReadings, track: Track) -> PassOutcome:
    """Return what is told of a track without an accepted reading, the same in every replay."""
    return PassOutcome(
        id=missed_pass_id(track.first_seen_ms, frame.camera_id, track.name),
        owner_id=frame.owner_id,
        camera_id=frame.camera_id,
        source=RecognitionSource.CAMERA,
        at_ms=track.first_seen_ms,
        accepted=False,
    )
