"""Which keys a feed remembers; reading itself is tested with a real Kafka."""

from uuid import UUID

from contracts.topic_feed import KeyMemory

A, B, C = (UUID(int=number) for number in range(3))


def test_a_key_that_is_no_longer_on_the_topic_is_gone_once() -> None:
    keys = KeyMemory()
    keys.begin()
    keys.read(A, is_deleted=False)
    keys.read(B, is_deleted=False)
    assert not keys.gone()
    keys.begin()
    keys.read(B, is_deleted=False)
    assert keys.gone() == {A}
    assert not keys.gone()


def test_a_reading_that_was_cut_off_forgets_nothing() -> None:
    keys = KeyMemory()
    keys.begin()
    keys.read(A, is_deleted=False)
    keys.begin()
    keys.read(B, is_deleted=False)
    keys.begin()
    keys.read(C, is_deleted=False)
    assert keys.gone() == {A, B}


def test_a_deletion_that_was_read_is_not_told_again() -> None:
    keys = KeyMemory()
    keys.begin()
    keys.read(A, is_deleted=False)
    keys.read(A, is_deleted=True)
    keys.begin()
    assert not keys.gone()
