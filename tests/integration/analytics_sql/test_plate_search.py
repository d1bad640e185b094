"""The engine and common.plates.matching agree on the plates that a search text matches."""

from dataclasses import dataclass
from uuid import UUID

import pytest
from hypothesis import strategies as st

from analytics_sql.client import ClickHouseClient
from analytics_sql.plate_search import SEARCH_TOLERANCE
from analytics_sql.recognitions import (
    RecognitionFilter,
    RecognitionRow,
    insert_recognitions,
    list_recognitions,
)
from common.plates.matching import MatchMode, plate_matcher
from common.plates.normalise import normalise_plate
from common.records.ids import recognition_id
from tests.integration.analytics_sql.conftest import check_examples, migrated_client
from tests.records import plain_row
from tests.services.clickhouse import ClickHouseAddress

pytestmark = pytest.mark.integration

client = migrated_client

CAMERA = UUID(int=0xCA)
START_MS = 1_793_491_200_000
OWNER = UUID(int=1 << 64)

# Few characters, so that texts and plates match often: look-alikes, special characters of LIKE and
# regular expressions, and characters of one or more bytes in UTF-8.
CHARACTERS = "AB018OQDILZ2S5G6%_\\.^$[(|+ÄÖЖ岐😀"
QUESTIONS = 8
_plates = st.text(CHARACTERS, max_size=8).map(normalise_plate)
_changes = st.tuples(st.integers(0, 8), st.integers(0, 2), _plates)


@dataclass(frozen=True)
class _Question:
    mode: MatchMode
    text: str


def _changed(text: str, change: tuple[int, int, str]) -> str:
    place, dropped, extra = change
    return text[:place] + extra[:2] + text[place + dropped :]


def _questions(plates: list[str]) -> st.SearchStrategy[_Question]:
    """Return queries close to the plates: parts of plates, with edits and wildcards."""

    @st.composite
    def question(draw: st.DrawFn) -> _Question:
        mode = draw(st.sampled_from(MatchMode))
        text = _changed(draw(st.sampled_from(plates)), draw(_changes))
        if mode is MatchMode.WILDCARD:
            for wild in draw(st.lists(st.sampled_from(("*", "?", "*?", "**")), max_size=4)):
                text = _changed(text, (draw(st.integers(0, 8)), draw(st.integers(0, 2)), wild))
        if mode in (MatchMode.PREFIX, MatchMode.SUBSTRING):
            text = text[draw(st.integers(0, 2)) :][: draw(st.integers(1, 5))]
        return _Question(mode, normalise_plate(text))

    return question().filter(lambda one: one.text != "")


@st.composite
def _searches(draw: st.DrawFn) -> tuple[list[str], list[_Question]]:
    first = draw(st.lists(_plates, min_size=1, max_size=20))
    near = draw(st.lists(st.tuples(st.sampled_from(first), _changes), max_size=20))
    plates = first + [normalise_plate(_changed(plate, change)) for plate, change in near]
    return plates, draw(st.lists(_questions(plates), min_size=1, max_size=QUESTIONS))


def _row(user_id: UUID, number: int, plate: str, confidence: float = 0.9) -> RecognitionRow:
    at_ms = START_MS + number
    identifier = recognition_id(at_ms, CAMERA, str(user_id))
    return plain_row(user_id, at_ms, plate, CAMERA, id=identifier, confidence=confidence)


async def _found(client: ClickHouseClient, wanted: RecognitionFilter) -> list[str]:
    page = await list_recognitions(client, wanted, None, 200)
    return [found.plate for found in page.rows]


async def _compare(
    client: ClickHouseClient, user_id: UUID, plates: list[str], questions: list[_Question]
) -> None:
    """Check that the engine and the matcher give the same results."""
    rows = [_row(user_id, number, plate) for number, plate in enumerate(plates)]
    await insert_recognitions(client, rows)
    for asked in questions:
        matcher = plate_matcher(asked.text, asked.mode, SEARCH_TOLERANCE)

        found = await _found(client, RecognitionFilter(user_id, asked.text, match=asked.mode))

        assert found == [plate for plate in reversed(plates) if matcher.matches(plate)], asked


def test_the_engine_answers_as_the_matcher(migrated_clickhouse: ClickHouseAddress) -> None:
    check_examples(
        migrated_clickhouse,
        _searches(),
        lambda client, owner, search: _compare(client, owner, *search),
        count=15,
    )


async def test_fuzzy_takes_look_alikes_and_one_edit(client: ClickHouseClient) -> None:
    near = ["AB12CD", "A81ZCO", "AB12CDE", "B12CD", "AX12CD"]
    far = ["AXX2CD", "AB12CDEF", "CD12AB", "12CD", ""]
    plates = [*near, *far]
    await insert_recognitions(client, [_row(OWNER, at, plate) for at, plate in enumerate(plates)])

    found = await _found(client, RecognitionFilter(OWNER, "AB12CD", match=MatchMode.FUZZY))

    assert found == near[::-1]
