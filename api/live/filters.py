"""Which recognitions a reader of the stream wants. Pure."""

from collections.abc import Callable

from analytics_sql.plate_conditions import SEARCH_TOLERANCE
from analytics_sql.recognitions import ListedRecognition
from api.live.schemas import StreamQuery
from contracts.matching import MatchMode, PlateMatcher, plate_matcher

Wanted = Callable[[ListedRecognition], bool]


def wanted_by(query: StreamQuery) -> Wanted:
    """Return what tells whether a recognition is one that the list would show as well."""
    matcher = _matcher(query)

    def wanted(recognition: ListedRecognition) -> bool:
        return (
            query.camera_id in (None, recognition.camera_id)
            and recognition.confidence >= query.min_confidence
            and (matcher is None or matcher.matches(recognition.plate))
        )

    return wanted


def _matcher(query: StreamQuery) -> PlateMatcher | None:
    if query.plate is None:
        return None
    if query.match is MatchMode.SUBSTRING:
        # Of any length: what no plate can hold finds nothing.
        return PlateMatcher(MatchMode.SUBSTRING, query.plate)
    return plate_matcher(query.plate, query.match, SEARCH_TOLERANCE)
