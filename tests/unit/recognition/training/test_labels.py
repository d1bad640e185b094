"""What the teacher's finds make of a photo's labels."""

from pathlib import Path

from recognition.evaluation.photos import Photo, Plate
from recognition.training.labels import complete
from recognition.training.onnx_models import Found

OWN = (100.0, 100.0, 200.0, 140.0)
OTHER = (400.0, 300.0, 460.0, 320.0)
FAR = (10.0, 10.0, 30.0, 18.0)


def photo(exhaustive: bool) -> Photo:
    return Photo("a", Path("a"), 640, 480, (Plate("AB", False, OWN, None),), exhaustive)


def test_sure_finds_are_taught_and_doubtful_ones_masked() -> None:
    labels = complete(photo(False), [Found(OWN, 0.9), Found(OTHER, 0.7), Found(FAR, 0.2)])
    assert labels.plates == (OWN, OTHER)
    assert labels.masked == (FAR,)


def test_where_every_plate_is_boxed_the_teacher_adds_nothing() -> None:
    labels = complete(photo(True), [Found(OTHER, 0.7), Found(FAR, 0.2)])
    assert (labels.plates, labels.masked) == ((OWN,), ())


def test_a_find_around_a_boxed_plate_is_that_plate() -> None:
    around = (60.0, 80.0, 240.0, 170.0)
    assert complete(photo(False), [Found(around, 0.6)]).plates == (OWN,)
