import numpy as np
import pytest

from recognition.model_card import CropCard, SecondCropCard
from recognition.reader import OPTIONS_A_CHARACTER, Reader, averaged, cut_plate
from recognition.runtime import Tensor
from recognition.types import Detection
from tests.unit.recognition.cards import ALPHABET, SaidModel, reader_card, slots_of

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
    assert len(first.options) == OPTIONS_A_CHARACTER
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


def test_a_country_that_the_model_has_no_name_for_is_told_by_its_order() -> None:
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


def test_crop_grows_by_its_margins() -> None:
    image = np.zeros((100, 200, 3), np.uint8)
    crop = cut_plate(image, Detection(50, 40, 150, 60, 0.9, "plate"), 0.1, 0.25)
    assert crop.shape == (30, 120, 3)


@pytest.mark.parametrize(
    "edges",
    [(-5, -5, 10, 10), (195, 95, 230, 130), (200, 100, 200, 100), (300, 300, 310, 310)],
)
def test_crop_stays_inside_and_is_never_empty(edges: tuple[float, float, float, float]) -> None:
    image = np.zeros((100, 200, 3), np.uint8)
    crop = cut_plate(image, Detection(*edges, 0.9, "plate"), 0.1, 0.1)
    assert min(crop.shape[:2]) >= 1
    assert crop.shape[0] <= 100
    assert crop.shape[1] <= 200


def two_views(below: float = 1.0) -> CropCard:
    second = SecondCropCard(margin_x=0.0, margin_y=0.0, below=below)
    return CropCard(margin_x=0.1, margin_y=0.2, second=second)


FOUND = [Detection(10, 10, 60, 30, 0.9, "plate"), Detection(80, 50, 130, 70, 0.8, "plate")]
SCENE = np.random.default_rng(1).integers(0, 255, (100, 200, 3)).astype(np.uint8)


def test_an_unsure_plate_is_read_from_the_second_crop_too() -> None:
    model = reading("AB123CD", "XY9", "AB123CD", "XY9", region=0)
    card = reader_card(crop=two_views(), regions=("Italy", "Unknown", "Spain"))
    texts = Reader(card, model).read_plates(SCENE, FOUND)
    assert [(t.text, t.region) for t in texts] == [("AB123CD", "Italy"), ("XY9", "Italy")]
    assert [tensor.shape[0] for tensor in model.inputs] == [2, 2]
    assert (model.inputs[0] != model.inputs[1]).any()


def test_a_sure_plate_is_read_once() -> None:
    model = reading("AB123CD", "XY9", probability=0.97)
    texts = Reader(reader_card(crop=two_views(below=0.95)), model).read_plates(SCENE, FOUND)
    assert [t.text for t in texts] == ["AB123CD", "XY9"]
    assert len(model.inputs) == 1


def test_the_second_crop_stays_with_its_plate() -> None:
    said = [slots_of("AB1", probability=0.97), slots_of("8X", probability=0.6)]
    again = [slots_of("BX", probability=0.99)]
    batches = iter([np.stack(said), np.stack(again)])
    model = SaidModel(lambda batch: {"plate": next(batches)})
    texts = Reader(reader_card(crop=two_views(below=0.95)), model).read_plates(SCENE, FOUND)
    assert [t.text for t in texts] == ["AB1", "BX"]


def test_where_nothing_is_read_the_second_crop_is_tried() -> None:
    model = reading("", "AB1", probability=0.97)
    Reader(reader_card(crop=two_views(below=0.95)), model).read_plates(SCENE, FOUND[:1])
    assert len(model.inputs) == 2


def test_the_surer_crop_decides_and_the_mean_is_a_probability() -> None:
    sure, unsure = slots_of("8", probability=0.99), slots_of("B", probability=0.6)
    slots = averaged(sure, unsure)
    assert ALPHABET[int(slots[0].argmax())] == "8"
    assert slots.sum(axis=-1) == pytest.approx(np.ones(len(slots)), abs=1e-5)
