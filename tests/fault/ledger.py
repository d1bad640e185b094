"""Output compared with the expected passes. No I/O."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from common.plates.edit_distance import edit_distance
from common.records.recognitions import Recognition
from tests.fault.api import Listed

_LONGEST_PASS_SECONDS = 15.0


@dataclass(frozen=True)
class Findings:
    """The faults that were found, each with its evidence."""

    lost: tuple[str, ...]
    doubled: tuple[str, ...]
    invented: tuple[str, ...]

    def __bool__(self) -> bool:
        """Whether a fault was found."""
        return bool(self.lost or self.doubled or self.invented)


def judge_shows(
    cameras: Collection[str],
    expected: Collection[str],
    listed: Iterable[Listed],
    published: Iterable[Recognition],
) -> Findings:
    """Return what is wrong in the lists of cameras that each showed the scene once. Each list must
    have every expected plate exactly once. ``published`` shows where a lost plate was lost.
    """
    on_topic = {(str(one.camera_id), one.plate) for one in published}
    found: defaultdict[tuple[str, str], list[Listed]] = defaultdict(list)
    for one in listed:
        if one.camera_id in cameras:
            found[one.camera_id, one.plate].append(one)
    wanted = {(camera, plate) for camera in cameras for plate in expected}
    return Findings(
        lost=tuple(
            f"{camera} {plate}: {'on the topic' if (camera, plate) in on_topic else 'never'}"
            for camera, plate in sorted(wanted - found.keys())
        ),
        doubled=tuple(_described(ones) for key, ones in sorted(found.items()) if len(ones) > 1),
        invented=tuple(
            _described(ones) for key, ones in sorted(found.items()) if key not in wanted
        ),
    )


def judge_loop(
    expected: Collection[str],
    listed: Iterable[Listed],
    *,
    silence_seconds: float,
    cuts: Collection[float],
) -> Findings:
    """Return the wrong plates of a camera that loops the scene, and repeats within the cooldown.

    ``cuts`` are times (Unix s) at which the frames were interrupted. A pass at such a time was only
    partly visible, so one wrong character is accepted.
    """
    found: defaultdict[str, list[Listed]] = defaultdict(list)
    for one in listed:
        found[one.plate].append(one)
    doubled = [
        _described([earlier, later])
        for ones in found.values()
        for earlier, later in _pairs(ones)
        if _unix_seconds(later) - _unix_seconds(earlier) < silence_seconds
    ]
    invented = [
        _described([one])
        for plate, ones in found.items()
        for one in ones
        if plate not in expected and not (_is_cut(one, cuts) and _is_nearly(plate, expected))
    ]
    return Findings((), tuple(doubled), tuple(invented))


def _is_cut(one: Listed, cuts: Collection[float]) -> bool:
    return any(abs(_unix_seconds(one) - cut) < _LONGEST_PASS_SECONDS for cut in cuts)


def _is_nearly(plate: str, expected: Collection[str]) -> bool:
    return any(edit_distance(plate, other) <= 1 for other in expected)


def repeated_ids(listed: Iterable[Listed]) -> list[str]:
    """Return the IDs that are listed more than once."""
    return [i for i, count in Counter(one.id for one in listed).items() if count > 1]


def _pairs(ones: list[Listed]) -> list[tuple[Listed, Listed]]:
    ordered = sorted(ones, key=_unix_seconds)
    return list(zip(ordered, ordered[1:], strict=False))


def _unix_seconds(one: Listed) -> float:
    return datetime.fromisoformat(one.timestamp).timestamp()


def _described(ones: list[Listed]) -> str:
    places = ", ".join(f"{one.timestamp} {one.id}" for one in ones)
    return f"{ones[0].camera_id} {ones[0].plate}: {places}"
