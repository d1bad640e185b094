import numpy as np
import pytest

from recognition.models.model_card import CropCard, TurnedCropsCard
from recognition.models.runtime import Tensor
from recognition.reading.reader import MAX_OPTIONS, Reader
from recognition.types import Detection
from tests.unit.recognition.cards import SaidModel, reader_card, slots_of

CROP = np.zeros((30, 90, 3), np.uint8)


def reading(*texts: str, probability: float = 0.9, region: int | None = None) -> SaidModel:
    remaining = list(texts)

    def say(batch: Tensor) -> dict[str, Tensor]:
        said = np.stack([slots_of(remaining.pop(0), probability) for _ in batch])
        regions = np.zeros((len(batch), 3), np.float32)
        if region is not None:
            regions[:, region] = 1
        return {"plate": said, "region": regions}

    return SaidModel(say)


def test_reads_each_crop() -> None:
    texts = Reader(reader_card(), reading("AB123CD", "XY9")).read([CROP, CROP])
    assert [t.text for t in texts] == ["AB123CD", "XY9"]


def test_a_fixed_batch_is_fed_one_by_one() -> None:
    model = reading("AB123CD", "XY9")
    texts = Reader(reader_card(dynamic_batch=False), model).read([CROP, CROP])
    assert [t.text for t in texts] == ["AB123CD", "XY9"]
    assert [tensor.shape for tensor in model.inputs] == [(1, 64, 128, 3)] * 2


def test_no_crops_no_call() -> None:
    model = reading()
    assert Reader(reader_card(), model).read([]) == []
    assert model.inputs == []


def test_options_are_best_first_and_never_padding() -> None:
    (text,) = Reader(reader_card(), reading("Z1", probability=0.7)).read([CROP])
    first, second = text.characters
    assert len(first.options) == MAX_OPTIONS
    assert [character for character, _ in first.options[:2]] == ["Z", "0"]
    assert [p for _, p in first.options[:2]] == pytest.approx([0.7, 0.3])
    assert second.options[1][0] == "2"
    assert all(character != "_" for c in text.characters for character, _ in c.options)


def test_nothing_read_is_an_empty_text() -> None:
    (text,) = Reader(reader_card(), reading("")).read([CROP])
    assert text.text == ""
    assert text.characters == ()


@pytest.mark.parametrize(("region", "expected"), [(0, "Italy"), (1, None)], ids=["known", "not"])
def test_names_the_region(region: int, expected: str | None) -> None:
    card = reader_card(regions=("Italy", "Unknown", "Spain"))
    (text,) = Reader(card, reading("AB123CD", region=region)).read([CROP])
    assert text.region == expected


def test_a_country_that_the_model_does_not_name_is_recognised_by_its_order() -> None:
    card = reader_card(regions=("Italy", "Unknown", "Spain"))
    said = reading("KA5MF4204", "AB123CD", region=1)
    assert [text.region for text in Reader(card, said).read([CROP, CROP])] == ["India", None]


def test_a_model_without_regions_names_none() -> None:
    (text,) = Reader(reader_card(), reading("AB123CD")).read([CROP])
    assert text.region is None


def test_feeds_rgb_bytes() -> None:
    model = reading("A")
    blue = np.zeros((30, 90, 3), np.uint8)
    blue[..., 0] = 200
    Reader(reader_card(), model).read([blue])
    assert model.inputs[0].dtype == np.uint8
    assert model.inputs[0][0, 10, 10].tolist() == [0, 0, 200]


FOUND = [Detection(10, 10, 60, 30, 0.9, "plate"), Detection(80, 50, 130, 70, 0.8, "plate")]
SCENE = np.random.default_rng(1).integers(0, 255, (100, 200, 3)).astype(np.uint8)


HANGING = CropCard(
    turned=TurnedCropsCard(step=10, most=30, above=0.4, below=0.9, gain=0.1, least=0.7)
)


def hanging(*said: tuple[str, float]) -> tuple[Reader, SaidModel]:
    """Return a reader that returns these texts with this confidence, one for each crop."""
    remaining = list(said)

    def say(batch: Tensor) -> dict[str, Tensor]:
        return {"plate": np.stack([slots_of(*remaining.pop(0)) for _ in batch])}

    model = SaidModel(say)
    return Reader(reader_card(crop=HANGING), model), model


def test_an_unsure_plate_is_read_upright() -> None:
    reader, model = hanging(("AB1", 0.6), ("XY9", 0.55), ("AB123CD", 0.95), ("AB123C", 0.8))
    (text,) = reader.read_plates(SCENE, FOUND[:1])
    assert text.text == "AB123CD"
    assert [tensor.shape[0] for tensor in model.inputs] == [1, 2, 1]


def test_it_is_turned_on_as_long_as_it_gets_surer() -> None:
    rising = [("AB1", 0.6), ("XY9", 0.7), ("XY9", 0.5), ("XY98", 0.8), ("XY987", 0.9)]
    reader, model = hanging(*rising)
    (text,) = reader.read_plates(SCENE, FOUND[:1])
    assert text.text == "XY987"
    assert [tensor.shape[0] for tensor in model.inputs] == [1, 2, 1, 1]


def test_it_is_not_turned_on_where_that_makes_nothing_surer() -> None:
    reader, model = hanging(("AB1", 0.6), ("XY9", 0.55), ("XY9", 0.51))
    (text,) = reader.read_plates(SCENE, FOUND[:1])
    assert text.text == "AB1"
    assert [tensor.shape[0] for tensor in model.inputs] == [1, 2]


@pytest.mark.parametrize(
    ("level", "upright", "text"),
    [(0.8, 0.89, "AB1"), (0.55, 0.69, "AB1"), (0.55, 0.75, "XY9")],
    ids=["hardly surer", "too unsure", "sure enough"],
)
def test_an_upright_crop_must_be_surer(level: float, upright: float, text: str) -> None:
    reader, _ = hanging(("AB1", level), ("XY9", upright), ("Z", 0.51), ("Z", 0.51))
    assert [one.text for one in reader.read_plates(SCENE, FOUND[:1])] == [text]


@pytest.mark.parametrize(
    ("width", "least", "crops"),
    [
        (49.0, {"least_width": 50.0}, [1]),
        (50.0, {"least_width": 50.0}, [1, 2]),
        (50.0, {"least_score": 0.95}, [1]),
        (50.0, {"least_score": 0.9}, [1, 2]),
    ],
)
def test_narrow_and_unlikely_plates_are_not_turned(
    width: float, least: dict[str, float], crops: list[int]
) -> None:
    turned = TurnedCropsCard(step=10, most=30, above=0.4, below=0.9, gain=0.1, least=0.7, **least)
    model = SaidModel(lambda batch: {"plate": np.stack([slots_of("AB1", 0.6)] * len(batch))})
    plate = Detection(10.0, 10.0, 10.0 + width, 30.0, 0.9, "plate")
    Reader(reader_card(crop=CropCard(turned=turned)), model).read_plates(SCENE, [plate])
    assert [len(tensor) for tensor in model.inputs] == crops


@pytest.mark.parametrize("sure", ["AB1", ""], ids=["sure", "nothing read"])
def test_what_is_sure_or_hopeless_is_not_turned(sure: str) -> None:
    reader, model = hanging((sure, 0.92), ("XY9", 0.95))
    assert [text.text for text in reader.read_plates(SCENE, FOUND)] == [sure, "XY9"]
    assert len(model.inputs) == 1
