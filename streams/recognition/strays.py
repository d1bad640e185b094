"""Stray tracks: misreadings beside a vehicle that another track follows. Pure.

What a stray was told of as is not settled when it ends, but with the track of its vehicle: only
then it is known what passed.
"""

import msgspec

from streams.recognition.texts import is_part, likeness
from streams.recognition.tracks import Stray, Track

# A fast or half-hidden vehicle can leave a stray track of a misreading or two beside its own.
_SHADOW_READINGS = 2
_SHADOW_TIMES_WEAKER = 3
_SHADOW_LIKENESS = 0.5
_SHADOW_GAP_MS = 2_500
_MOST_STRAYS = 16


def host_of(track: Track, text: str, going: tuple[Track, ...]) -> int | None:
    """Return the index of the track whose vehicle a stray track misread, None: it is no stray."""
    if track.readings_count > _SHADOW_READINGS:
        return None
    hosts = [
        index
        for index, other in enumerate(going)
        if other.readings_count >= _SHADOW_TIMES_WEAKER * track.readings_count
        and other.first_seen_ms - track.last_seen_ms <= _SHADOW_GAP_MS
        and (
            likeness(text, other.leading.text) >= _SHADOW_LIKENESS
            or is_part(text, other.leading.text)
        )
    ]
    return max(hosts, key=lambda i: (likeness(text, going[i].leading.text), -i), default=None)


def with_strays(
    going: tuple[Track, ...], host: int, told: tuple[Stray, ...]
) -> tuple[tuple[Track, ...], tuple[Stray, ...]]:
    """Return the tracks after one took over strays, and those that were too many."""
    if not told:
        return going, ()
    strays = (*going[host].strays, *told)
    after = msgspec.structs.replace(going[host], strays=strays[:_MOST_STRAYS])
    return (*going[:host], after, *going[host + 1 :]), strays[_MOST_STRAYS:]
