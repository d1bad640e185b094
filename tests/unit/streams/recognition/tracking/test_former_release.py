"""States and records that the release before the renaming of fields encoded."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from common.records.alerts import ProvisionalRecognition
from common.records.codec import Record, decode, encode
from common.records.recognitions import PassOutcome, Recognition
from streams.recognition.tracking.state import TrackerState
from streams.recognition.tracking.state_store import DeletedUpTo

_LINES: list[dict[str, Any]] = [
    msgspec.json.decode(line)
    for line in Path(__file__).with_name("former_release.jsonl").read_text("utf-8").splitlines()
]
_TYPES: dict[str, type[Record]] = {
    each.__name__: each
    for each in (
        DeletedUpTo,
        PassOutcome,
        ProvisionalRecognition,
        Recognition,
        TrackerState,
    )
}


@pytest.mark.parametrize("line", _LINES, ids=[line["case"] for line in _LINES])
def test_what_the_former_release_encoded_is_read_and_encoded_alike(line: dict[str, Any]) -> None:
    encoded = line["encoded"].encode()
    again = encode(decode(_TYPES[line["record"]], encoded))
    former = msgspec.json.decode(encoded)
    assert _with_fields_of(former, msgspec.json.decode(again)) == former


def _with_fields_of(former: Any, now: Any) -> Any:
    """Return what is now without the fields that came since, which a former release ignores."""
    if isinstance(former, dict):
        return {name: _with_fields_of(value, now[name]) for name, value in former.items()}
    if isinstance(former, list):
        return [_with_fields_of(one, other) for one, other in zip(former, now, strict=True)]
    return now


def test_renamed_fields_of_a_state_keep_what_they_were_written_with() -> None:
    states = {
        line["case"]: decode(TrackerState, line["encoded"].encode())
        for line in _LINES
        if line["record"] == "TrackerState"
    }
    suppressed = states["suppressed"].suppressed
    assert any(each.recognition is not None for each in suppressed)
    assert any(track.provisional_plates for track in states["provisional"].tracks)
    (fragment,) = [f for track in states["fragments"].tracks for f in track.fragments]
    assert fragment.provisional_plates
