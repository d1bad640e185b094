import pytest

from common.records.frames import Box
from recognition.analysis_hints import AnalysisHints, KnownPlate
from recognition.detection.known_plates import split_known
from recognition.types import Detection

PLACE = Box(x=100, y=100, width=100, height=30)
LOOK = AnalysisHints(known=(PLACE,))


def plate(left: float, top: float = 100, width: float = 100, score: float = 0.8) -> Detection:
    return Detection(left, top, left + width, top + 0.3 * width, score, "plate")


def test_a_plate_in_its_place_is_not_read() -> None:
    there, other = plate(110), plate(600)
    found, known = split_known([there, other], LOOK)
    assert found == [other]
    assert known == (KnownPlate(0, Box(x=110, y=100, width=100, height=30)),)


def test_other_boxes_of_the_plate_are_not_read_either() -> None:
    found, known = split_known([plate(110), plate(104, width=104, score=0.4)], LOOK)
    assert found == []
    assert len(known) == 1


@pytest.mark.parametrize(
    "found",
    [
        [plate(160)],
        [plate(100, width=140)],
        [plate(110, score=0.2)],
        [plate(110), plate(110, top=200)],
    ],
    ids=["elsewhere", "wider", "unsure", "another next to it"],
)
def test_what_may_be_another_plate_is_read(found: list[Detection]) -> None:
    assert split_known(found, LOOK) == (found, ())


def test_a_faint_detection_next_to_it_is_not_another_plate() -> None:
    faint = plate(110, top=200, score=0.1)
    assert split_known([plate(110), faint], LOOK)[0] == [faint]


BESIDE = Box(x=160, y=130, width=100, height=30)


@pytest.mark.parametrize(
    "hints", [AnalysisHints(known=(PLACE, BESIDE)), AnalysisHints(known=(PLACE,), others=(BESIDE,))]
)
def test_a_plate_that_may_be_of_two_tracks_is_read(hints: AnalysisHints) -> None:
    found = [plate(110, top=105)]
    assert split_known(found, hints) == (found, ())


def test_plates_that_are_each_in_their_own_place_are_not_read() -> None:
    places = (PLACE, Box(x=400, y=100, width=100, height=30))
    found, known = split_known([plate(405), plate(105), plate(700)], AnalysisHints(known=places))
    assert found == [plate(700)]
    assert [(one.index, one.box.x) for one in known] == [(0, 105), (1, 405)]
