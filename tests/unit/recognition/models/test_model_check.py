"""Loading a model reports a card that does not match the model."""

import msgspec
import numpy as np
import pytest

from common.errors import MisconfiguredError
from recognition.models.model_card import DetectorDecoder
from recognition.models.model_check import check_detector, check_reader
from recognition.models.runtime import Tensor
from tests.unit.recognition.cards import ALPHABET, SLOTS, SaidModel, detector_card, reader_card

PLATES = np.zeros((1, SLOTS, len(ALPHABET)), np.float32)


def gives(**outputs: Tensor) -> SaidModel:
    return SaidModel(lambda _: outputs)


def test_models_that_fit_pass() -> None:
    detector = gives(output0=np.zeros((1, 5, 2100), np.float32))
    check_detector(detector_card(), detector)
    assert detector.inputs[0].shape == (1, 3, 320, 320)
    assert detector.inputs[0].dtype == np.float32
    rows = detector_card(DetectorDecoder.END2END_ROWS)
    check_detector(rows, gives(output0=np.zeros((0, 7), np.float32)))
    reader = gives(plate=PLATES, region=np.zeros((1, 2), np.float32))
    check_reader(reader_card(regions=("Brazil", "Unknown")), reader)
    assert reader.inputs[0].shape == (1, 64, 128, 3)
    assert reader.inputs[0].dtype == np.uint8


@pytest.mark.parametrize(
    ("outputs", "words"),
    [
        ({"other": np.zeros((1, 5, 9))}, "its outputs are other; expected output0"),
        ({"output0": np.zeros((1, 84, 9))}, r"shape \(1, 84, 9\); expected 1 x 5 x anchors"),
        ({"output0": np.zeros((4, 7))}, "expected 1 x 5 x anchors"),
    ],
)
def test_a_detector_that_gives_something_else_is_reported(
    outputs: dict[str, Tensor], words: str
) -> None:
    with pytest.raises(MisconfiguredError, match=words):
        check_detector(detector_card(), gives(**outputs))


@pytest.mark.parametrize(
    ("outputs", "words"),
    [
        ({"plate": PLATES[:, :9]}, "expected 1 x 10 x 37"),
        ({"plate": PLATES[..., :36]}, "expected 1 x 10 x 37"),
        ({"plate": PLATES}, "expected region"),
        ({"plate": PLATES, "region": np.zeros((1, 3))}, "region has an unexpected shape"),
    ],
    ids=["slots", "alphabet", "no-region", "regions"],
)
def test_a_reader_that_gives_something_else_is_reported(
    outputs: dict[str, Tensor], words: str
) -> None:
    with pytest.raises(MisconfiguredError, match=words):
        check_reader(reader_card(regions=("Brazil", "Unknown")), gives(**outputs))


def test_a_model_that_refuses_its_input_is_reported() -> None:
    def refuse(tensor: Tensor) -> dict[str, Tensor]:
        raise RuntimeError(f"got {tensor.shape}")

    with pytest.raises(MisconfiguredError, match=r"it rejects an input .*: got \(1, 3, 320, 320\)"):
        check_detector(detector_card(), SaidModel(refuse))


def test_the_canvases_in_use_are_tried() -> None:
    detector = gives(output0=np.zeros((1, 5, 504), np.float32))
    check_detector(detector_card(stride=32), detector, [(448, 256), (128, 64)])
    assert [tried.shape[2:] for tried in detector.inputs] == [(256, 448), (64, 128)]
    with pytest.raises(MisconfiguredError, match="multiples of its stride 32"):
        check_detector(detector_card(stride=32), detector, [(448, 250)])


def test_another_way_of_resizing_is_refused() -> None:
    detector, reader = detector_card(), reader_card()
    stretched = msgspec.structs.replace(
        detector, input=msgspec.structs.replace(detector.input, resize="stretch")
    )
    boxed = msgspec.structs.replace(
        reader, input=msgspec.structs.replace(reader.input, resize="letterbox")
    )
    with pytest.raises(MisconfiguredError, match="with letterbox; the card says stretch"):
        check_detector(stretched, gives(output0=np.zeros((1, 5, 9))))
    with pytest.raises(MisconfiguredError, match="with stretch; the card says letterbox"):
        check_reader(boxed, gives(plate=PLATES))
