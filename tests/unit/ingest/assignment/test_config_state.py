"""While a partition is read from its start, only the last configuration of a camera counts."""

from uuid import UUID

from common.records.cameras import CameraConfig
from ingest.assignment.fleet import ConfigChange, ConfigState


def _change(camera: int, revision: int | None, partition: int = 0) -> ConfigChange:
    config = None
    if revision is not None:
        config = CameraConfig(
            camera_id=UUID(int=camera),
            owner_id=UUID(int=9),
            name="gate",
            stream_url_encrypted="x",
            enabled=True,
            revision=revision,
        )
    return ConfigChange(partition, UUID(int=camera), config)


def test_a_partition_acts_on_the_last_records_once_its_end_is_reached() -> None:
    log = ConfigState()
    log.assigned(0, end_offset=5)

    changes = [
        _change(1, 1), _change(2, 1), _change(1, 2), _change(3, 1), _change(3, None),
    ]  # fmt: skip
    held = [log.read(change) for change in changes]

    assert held == [(), (), (), (), ()]
    assert log.reached(0, 4) == ()
    assert set(log.reached(0, 5)) == {_change(1, 2), _change(2, 1), _change(3, None)}
    assert log.catching_up == frozenset()


def test_after_its_end_each_change_counts_at_once() -> None:
    log = ConfigState()
    log.assigned(0, end_offset=0)
    log.reached(0, 0)

    assert log.read(_change(1, 1)) == (_change(1, 1),)
    assert log.reached(0, 1) == ()


def test_a_partition_that_is_not_ours_is_ignored() -> None:
    log = ConfigState()
    log.assigned(0, end_offset=0)
    log.reached(0, 0)
    assert log.has(0)
    log.revoked(0)

    assert not log.has(0)
    assert log.read(_change(1, 1)) == ()
    assert log.read(_change(1, 1, partition=3)) == ()
    assert log.reached(3, 10) == ()


def test_a_partition_that_is_assigned_again_is_read_again() -> None:
    log = ConfigState()
    for end_offset in (1, 2):
        log.assigned(0, end_offset)
        for revision in range(end_offset):
            log.read(_change(1, revision))
        assert log.reached(0, end_offset) == (_change(1, end_offset - 1),)
        log.revoked(0)
