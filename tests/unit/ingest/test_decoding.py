"""A machine that cannot keep up decodes less, and all again once it has caught up."""

import pytest

from ingest.decoding import DecodeEffort, decode_effort

ALL, REFERENCES, KEYFRAMES = DecodeEffort.ALL, DecodeEffort.REFERENCES, DecodeEffort.KEYFRAMES


@pytest.mark.parametrize(
    ("current", "lag_ms", "at_keyframe", "expected"),
    [
        (ALL, 0, False, ALL),
        (ALL, 900, False, ALL),
        (ALL, 1100, False, REFERENCES),
        (ALL, 3100, False, KEYFRAMES),
        (REFERENCES, 500, False, REFERENCES),
        (REFERENCES, 200, False, ALL),
        (REFERENCES, 3100, False, KEYFRAMES),
        (KEYFRAMES, 0, False, KEYFRAMES),
        (KEYFRAMES, 500, True, KEYFRAMES),
        (KEYFRAMES, 100, True, ALL),
    ],
)
def test_effort_follows_the_lag(
    current: DecodeEffort, lag_ms: float, at_keyframe: bool, expected: DecodeEffort
) -> None:
    assert decode_effort(current, lag_ms, at_keyframe) is expected
