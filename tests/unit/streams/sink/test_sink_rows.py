import msgspec

from contracts.records import encode
from streams.sink.rows import read_batch
from tests.records import recognition


def test_one_unreadable_message_does_not_hold_back_the_others() -> None:
    good = encode(recognition(1))
    newer = encode(msgspec.structs.replace(recognition(1), version=2))
    batch = read_batch([("a", good), ("b", newer), ("c", None), ("d", b"{"), ("e", good)])
    assert list(batch.rows) == ["a", "e"]
    assert [(message, error.code) for message, error in batch.refused] == [
        ("b", "unknown_record_version"),
        ("c", "unreadable_record"),
        ("d", "unreadable_record"),
    ]


def test_rows_are_as_stored() -> None:
    sent = msgspec.structs.replace(recognition(1), plate="ab-123")
    row = read_batch([("a", encode(sent))]).rows["a"]
    assert (row.plate, row.id, row.captured_ms) == ("AB123", sent.id, sent.captured_ms)


def test_an_id_of_another_time_is_refused() -> None:
    liar = msgspec.structs.replace(recognition(1), captured_ms=recognition(2).captured_ms)
    ((_, error),) = read_batch([("a", encode(liar))]).refused
    assert error.code == "id_of_other_time"
