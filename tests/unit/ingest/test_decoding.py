"""A machine that cannot keep up decodes less, and all again once it has caught up."""

from ingest.decoding import DecodeControl, DecodeEffort

ALL, REFERENCES, KEYFRAMES = DecodeEffort.ALL, DecodeEffort.REFERENCES, DecodeEffort.KEYFRAMES


def _far_behind() -> DecodeControl:
    control = DecodeControl()
    for tenth in range(12):
        control.next(2000, False, tenth / 10)
    assert control.effort is KEYFRAMES
    return control


def test_a_stream_in_time_is_decoded_whole() -> None:
    control = DecodeControl()

    assert {control.next(lag, False, lag / 100) for lag in range(0, 700, 10)} == {ALL}


def test_a_stream_that_is_behind_gives_up_what_nothing_is_built_on() -> None:
    control = DecodeControl()

    assert control.next(800, False, 0) is REFERENCES
    assert control.next(500, False, 10) is REFERENCES
    assert control.next(200, False, 11) is ALL


def test_a_backlog_of_the_network_is_decoded_but_for_that() -> None:
    control = DecodeControl()
    # Four seconds held up, then 25 frames a tenth of a second.
    efforts = [control.next(4000 - 1000 * tenth, False, tenth / 10) for tenth in range(5)]

    assert KEYFRAMES not in efforts
    assert efforts[-1] is ALL


def test_a_stream_that_stays_far_behind_is_down_to_key_frames() -> None:
    control = DecodeControl()

    efforts = [control.next(2000, False, tenth / 10) for tenth in range(12)]

    assert efforts == [REFERENCES] * 10 + [KEYFRAMES] * 2


def test_full_effort_returns_at_a_key_frame_in_time() -> None:
    control = _far_behind()

    assert control.next(100, False, 2.0) is KEYFRAMES
    assert control.next(500, True, 2.1) is KEYFRAMES
    assert control.next(100, True, 2.2) is ALL


def test_patience_begins_anew_after_a_stream_was_near() -> None:
    control = DecodeControl()
    control.next(2000, False, 0.0)
    control.next(1000, False, 0.5)

    assert control.next(2000, False, 1.2) is REFERENCES
