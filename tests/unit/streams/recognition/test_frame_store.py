from common.records.frames import FrameReference
from streams.recognition.frame_store import FrameCache

CAR = b"camera"


def place(offset: int) -> FrameReference:
    return FrameReference(partition=0, offset=offset)


def test_cache_drops_the_oldest() -> None:
    cache = FrameCache(10)
    for offset in range(4):
        cache.put(CAR, place(offset), b"1234")
    assert [cache.get(place(n)) is not None for n in range(4)] == [False, False, True, True]
    assert cache.size_bytes == 8


def test_cache_takes_a_frame_again() -> None:
    cache = FrameCache(10)
    cache.put(CAR, place(1), b"1234")
    cache.put(CAR, place(1), b"123456")
    assert cache.get(place(1)) == b"123456"
    assert cache.size_bytes == 6


def test_cache_does_not_keep_what_is_larger_than_itself() -> None:
    cache = FrameCache(3)
    cache.put(CAR, place(1), b"1234")
    assert cache.get(place(1)) is None
    assert cache.size_bytes == 0


def test_cache_drops_a_cameras_frames_that_are_not_needed() -> None:
    cache = FrameCache(100)
    for offset in range(5):
        cache.put(CAR, place(offset), b"1234")
    cache.put(b"other", place(9), b"1234")
    cache.retain_only(CAR, {place(1)}, up_to=place(3))
    kept = [n for n in range(10) if cache.get(place(n)) is not None]
    assert kept == [1, 4, 9]
    assert cache.size_bytes == 12
    cache.retain_only(b"nobody", (), up_to=place(3))
