"""What is handed on by a thread of its own."""

from ingest.handover import Handover


def test_records_are_handed_on_in_their_order_before_the_end() -> None:
    handed: list[int] = []
    line: Handover[int] = Handover("test", handed.append)
    for number in range(100):
        line.put(number)

    line.end()
    assert line.join(10)
    assert handed == list(range(100))


def test_an_odd_record_holds_up_none_that_follows() -> None:
    handed: list[int] = []

    def hand_on(number: int) -> None:
        if number == 1:
            raise ValueError(number)
        handed.append(number)

    line: Handover[int] = Handover("test", hand_on)
    for number in range(3):
        line.put(number)

    line.end()
    assert line.join(10)
    assert handed == [0, 2]
