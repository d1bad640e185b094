import numpy as np
import pytest

from recognition.detection.detector import MIN_PLATE_PX, Detector
from recognition.models.model_card import DetectorDecoder
from recognition.models.runtime import Tensor
from tests.odd_images import noise
from tests.unit.recognition.cards import (
    SaidModel,
    centre_rows,
    detector_card,
    recognizer_settings,
)

# 640x320 px in a letterbox of 320x320 px: the scale is 0.5, with 80 px of grey at top and bottom.
IMAGE = np.zeros((320, 640, 3), np.uint8)


def says(output: Tensor) -> SaidModel:
    return SaidModel(lambda _: {"output0": output})


def detector(model: SaidModel, **settings: object) -> Detector:
    return Detector(detector_card(), model, recognizer_settings(**settings))


def test_boxes_are_in_pixels_of_the_image() -> None:
    (found,) = detector(says(centre_rows((100, 150, 40, 10, 0.9)))).detect(IMAGE)
    assert (found.left, found.top) == pytest.approx((160, 130))
    assert (found.width_px, found.height_px) == pytest.approx((80, 20))
    assert found.score == pytest.approx(0.9)
    assert found.kind == "plate"


def test_boxes_are_clipped_to_the_image() -> None:
    (found,) = detector(says(centre_rows((5, 150, 40, 10, 0.9)))).detect(IMAGE)
    assert found.left == 0
    assert found.right == pytest.approx(50)


def test_unsure_ones_are_dropped_best_come_first() -> None:
    model = says(
        centre_rows((50, 150, 40, 10, 0.5), (150, 150, 40, 10, 0.9), (250, 150, 40, 10, 0.39))
    )
    assert [f.score for f in detector(model).detect(IMAGE)] == pytest.approx([0.9, 0.5])
    assert len(detector(model, detection_threshold=0.8).detect(IMAGE)) == 1
    assert len(detector(model, detection_threshold=0.1).detect(IMAGE)) == 3


def test_of_overlapping_boxes_the_best_stays() -> None:
    model = says(centre_rows((100, 150, 40, 10, 0.7), (102, 150, 40, 10, 0.8)))
    assert [f.score for f in detector(model).detect(IMAGE)] == pytest.approx([0.8])


def test_boxes_of_one_plate_are_joined_the_surer_the_heavier() -> None:
    model = says(
        centre_rows((100, 150, 40, 10, 0.8), (104, 150, 40, 10, 0.4), (96, 150, 40, 10, 0.3))
    )
    (found,) = detector(model, detection_threshold=0.2).detect(IMAGE)
    assert found.score == pytest.approx(0.8)
    # Twice the confidence gives twice the weight. The third score is below half of the best score.
    assert (found.left + found.right) / 2 == pytest.approx(2 * (100 * 4 + 104) / 5)
    assert found.height_px == pytest.approx(20)


def test_boxes_without_an_area_are_dropped() -> None:
    assert detector(says(centre_rows((100, 20, 40, 10, 0.9)))).detect(IMAGE) == []


def test_nothing_found_is_an_empty_list() -> None:
    assert detector(says(centre_rows((100, 150, 40, 10, 0.0)))).detect(IMAGE) == []


def test_an_image_too_small_for_a_plate_is_not_searched() -> None:
    model = says(centre_rows((160, 160, 320, 320, 0.9)))
    width, height = MIN_PLATE_PX
    sizes = [(width, height), (width - 1, 300), (300, height - 1), (1, 1), (300, 300)]
    found = detector(model).detect_all([noise(*size) for size in sizes])
    assert [len(one) for one in found] == [1, 0, 0, 0, 1]


def test_no_more_plates_are_returned_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recognition.detection.detector.MAX_PLATES", 2)
    model = says(centre_rows(*((30 + 60 * n, 150, 40, 10, 0.9) for n in range(5))))
    assert len(detector(model).detect(IMAGE)) == 2


def test_reads_rows_of_an_end_to_end_model() -> None:
    rows = np.array([[0, 80, 145, 120, 155, 1, 0.8], [0, 80, 145, 120, 155, 0, 0.1]], np.float32)
    card = detector_card(DetectorDecoder.END2END_ROWS, classes=("car-plate", "motorcycle"))
    (found,) = Detector(card, says(rows), recognizer_settings()).detect(IMAGE)
    assert (found.left, found.top, found.right, found.bottom) == pytest.approx((160, 130, 240, 150))
    assert found.kind == "motorcycle"


def test_best_class_names_the_kind() -> None:
    output = np.array([[[100], [150], [40], [10], [0.2], [0.9]]], np.float32)
    card = detector_card(classes=("plate", "two-row"))
    (found,) = Detector(card, says(output), recognizer_settings()).detect(IMAGE)
    assert found.kind == "two-row"


def test_feeds_rgb_0_to_1_with_the_image_in_the_middle_of_grey() -> None:
    model = says(centre_rows((0, 0, 0, 0, 0.0)))
    image = np.zeros((320, 640, 3), np.uint8)
    image[..., 0] = 255
    Detector(detector_card(dynamic_size=False), model, recognizer_settings()).detect(image)
    (fed,) = model.inputs
    assert fed.shape == (1, 3, 320, 320)
    assert fed.dtype == np.float32
    assert fed[0, :, 160, 160] == pytest.approx([0, 0, 1])
    assert fed[0, :, 79, 160] == pytest.approx([114 / 255] * 3)
    assert fed[0, :, 80, 160] == pytest.approx([0, 0, 1])


@pytest.mark.parametrize(("dynamic", "side", "expected"), [(True, 500, 512), (False, 500, 320)])
def test_another_input_size_only_where_the_model_takes_any(
    dynamic: bool, side: int, expected: int
) -> None:
    model = says(centre_rows((0, 0, 0, 0, 0.0)))
    settings = recognizer_settings(input_size=side)
    square = np.zeros((320, 320, 3), np.uint8)
    Detector(detector_card(dynamic_size=dynamic), model, settings).detect(square)
    assert model.inputs[0].shape == (1, 3, expected, expected)


CANVASES = ((448, 256), (320, 256), (160, 96))


def test_an_image_is_shown_on_its_canvas() -> None:
    model = says(centre_rows((0, 0, 0, 0, 0.0)))
    card = detector_card(dynamic_size=True, canvases=CANVASES)
    one = Detector(card, model, recognizer_settings())
    for height, width, scale in ((1080, 1920, 448 / 1920), (240, 320, 1.0)):
        image = np.zeros((height, width, 3), np.uint8)
        one.detect(image)
        assert one.scale(image) == pytest.approx(scale)
    one.search(image, 0.5, canvas=one.smallest_canvas, largest_px=100)
    assert [fed.shape[2:] for fed in model.inputs] == [(256, 448), (256, 320), (96, 160)]
    assert np.count_nonzero(model.inputs[-1][0, 0] == 0) == 100 * 75


def test_boxes_are_right_without_the_grey() -> None:
    card = detector_card(dynamic_size=True, canvases=((320, 160),))
    model = says(centre_rows((100, 70, 40, 10, 0.9)))
    (found,) = Detector(card, model, recognizer_settings()).detect(IMAGE)
    assert (found.left, found.top) == pytest.approx((160, 130))


GPU = "CUDAExecutionProvider,CPUExecutionProvider"


def says_of_each(*outputs: Tensor) -> SaidModel:
    """Return a model that treats each image of a batch as if it were alone, by its grey level."""

    def say(batch: Tensor) -> dict[str, Tensor]:
        which = [round(float(image[0, 160, 160]) * 255) for image in batch]
        return {"output0": np.concatenate([outputs[n] for n in which])}

    return SaidModel(say)


def test_a_gpu_is_fed_images_of_any_sizes_together() -> None:
    model = says_of_each(
        centre_rows((100, 150, 40, 10, 0.9)),
        centre_rows((100, 150, 40, 10, 0.8)),
        centre_rows((100, 150, 40, 10, 0.1)),
    )
    card = detector_card(dynamic_batch=True, dynamic_size=True)
    images = [np.full((s, 2 * s, 3), n, np.uint8) for n, s in enumerate((320, 160, 80))]
    found = Detector(card, model, recognizer_settings(providers=GPU)).detect_all(images)
    assert [one.shape for one in model.inputs] == [(3, 3, 320, 320)]
    assert [[round(f.score, 3) for f in one] for one in found] == [[0.9], [0.8], []]
    assert [one[0].left for one in found[:2]] == pytest.approx([160, 80])


def test_rows_of_a_batch_name_the_image_that_they_are_of() -> None:
    rows = np.array(
        [[0, 80, 145, 120, 155, 0, 0.8], [2, 80, 145, 120, 155, 0, 0.7], [2, 9, 145, 49, 155, 0, 1]]
    )
    card = detector_card(DetectorDecoder.END2END_ROWS, dynamic_batch=True)
    found = Detector(card, says(rows), recognizer_settings(providers=GPU)).detect_all([IMAGE] * 3)
    assert [[f.score for f in one] for one in found] == [[0.8], [], [1.0, 0.7]]


@pytest.mark.parametrize(
    ("dynamic_batch", "providers"), [(True, "CPUExecutionProvider"), (False, GPU)]
)
def test_images_are_fed_one_by_one_where_a_batch_gains_nothing_or_is_not_taken(
    dynamic_batch: bool, providers: str
) -> None:
    model = says(centre_rows((100, 150, 40, 10, 0.9)))
    card = detector_card(dynamic_batch=dynamic_batch)
    found = Detector(card, model, recognizer_settings(providers=providers)).detect_all([IMAGE] * 3)
    assert [one.shape[0] for one in model.inputs] == [1, 1, 1]
    assert [len(one) for one in found] == [1, 1, 1]
    assert Detector(card, model, recognizer_settings()).detect_all([]) == []


def test_a_gpu_is_always_fed_one_size() -> None:
    model = says(centre_rows((0, 0, 0, 0, 0.0)))
    settings = recognizer_settings(providers=GPU)
    card = detector_card(dynamic_size=True, canvases=CANVASES)
    Detector(card, model, settings).detect(IMAGE)
    assert model.inputs[0].shape == (1, 3, 320, 320)
