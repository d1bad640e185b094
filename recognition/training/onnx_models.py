"""Runs a detector and a reader ONNX file as their cards say, for labelling and for measuring.

Kept apart from the serving engine on purpose: what is measured here is the models alone.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import cv2
import numpy as np
import numpy.typing as npt
import onnxruntime

from recognition.boxes import Box
from recognition.evaluation.photos import Card, Image

LETTERBOX_GREY = 114

Tensor = npt.NDArray[Any]


@dataclass(frozen=True)
class Found:
    """A plate box in pixels of the photo with the detector's score, 0–1."""

    box: Box
    score: float


@dataclass(frozen=True)
class Read:
    """Text of a crop and the probability, 0–1, of each of its characters."""

    text: str
    probabilities: tuple[float, ...]

    @property
    def raw_confidence(self) -> float:
        """Mean of the character probabilities; 0 for an empty text."""
        return float(np.mean(self.probabilities)) if self.probabilities else 0.0


class Feed(Protocol):
    """Makes the tensor that a file takes of a picture, H×W×3 uint8, red first."""

    def __call__(self, image: Image) -> Tensor: ...


class Runner(Protocol):
    """A loaded ONNX file: a named input in, the outputs in the file's order out."""

    def __call__(self, tensor: Tensor) -> list[Tensor]: ...


def onnxruntime_runner(path: Path, threads: int = 1) -> Runner:
    """The file on onnxruntime's CPU provider."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return lambda tensor: session.run(None, {name: tensor})


def openvino_runner(path: Path, threads: int = 1, precision: str = "f32") -> Runner:
    """The file on OpenVINO's CPU plugin, computing in ``precision``: ``f32`` or ``bf16``."""
    import openvino

    compiled = openvino.Core().compile_model(
        str(path), "CPU", {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": precision}
    )
    request = compiled.create_infer_request()
    return lambda tensor: [np.array(v) for v in request.infer([tensor]).values()]


class Detector:
    """Finds plates in one photo at a time."""

    def __init__(
        self, run: Runner, size: tuple[int, int], decoder: str, stride: int = 0, *, feed: Feed
    ) -> None:
        """``size`` is height, width of the letterbox; ``decoder`` as in the card.

        With a ``stride``, the file takes any multiple of it: grey beside the photo is left out.
        """
        self._run, self._size, self._decoder, self._stride = run, size, decoder, stride
        self._feed = feed

    def __call__(self, image: Image, score: float, overlap: float = 0.5) -> list[Found]:
        """Plates of at least ``score``, best first, overlapping by ``overlap`` at most."""
        canvas, ratio, left, top = letterbox(image, self._fitting(image))
        output = self._run(self._feed(canvas))[0]
        boxes, scores = _decode(output, self._decoder)
        boxes = (boxes - [left, top, left, top]) / ratio
        height, width = image.shape[:2]
        boxes = np.clip(boxes, 0, [width, height, width, height])
        keep = scores >= score
        return suppress(boxes[keep], scores[keep], overlap)

    def _fitting(self, image: Image) -> tuple[int, int]:
        if not self._stride:
            return self._size
        ratio = min(s / i for s, i in zip(self._size, image.shape[:2], strict=True))
        height, width = (
            max(1, -(-round(i * ratio) // self._stride)) * self._stride for i in image.shape[:2]
        )
        return min(height, self._size[0]), min(width, self._size[1])


class Reader:
    """Reads crops."""

    def __init__(self, run: Runner, card: Card) -> None:
        """``card`` is the reader's model card."""
        self._run = run
        self._alphabet, self._pad = card["output"]["alphabet"], card["output"]["pad_char"]
        self._size = (card["input"]["width"], card["input"]["height"])
        cubic = card["crop"].get("interpolation") == "cubic"
        self._method = cv2.INTER_CUBIC if cubic else cv2.INTER_LINEAR

    def __call__(self, plates: list[list[Image]]) -> list[Read]:
        """One reading a plate, from as many crops of it as there are: mean of the logarithms."""
        crops = [crop for views in plates for crop in views]
        batch = np.stack([cv2.resize(c, self._size, interpolation=self._method) for c in crops])
        slots = self._run(batch)[0]
        logs = np.log(np.maximum(slots, 1e-6)).reshape(len(plates), -1, *slots.shape[1:])
        product = np.exp(logs.mean(axis=1))
        return [self._read(row) for row in product / product.sum(axis=-1, keepdims=True)]

    def _read(self, slots: Tensor) -> Read:
        best = [(self._alphabet[i], float(row[i])) for row in slots for i in [int(row.argmax())]]
        kept = [(c, p) for c, p in best if c != self._pad]
        return Read("".join(c for c, _ in kept), tuple(p for _, p in kept))


def margins_of(card: Card) -> list[tuple[float, float]]:
    """The margins of each crop that a reader's card asks for."""
    crop = card["crop"]
    views = [crop, crop["second"]] if crop.get("second") else [crop]
    return [(view["margin_x"], view["margin_y"]) for view in views]


def as_floats(image: Image) -> Tensor:
    """1×3×H×W float32, 0-1, red first: what detectors of floats take."""
    return np.ascontiguousarray(image.transpose(2, 0, 1)[None].astype(np.float32) / 255.0)


def as_picture(image: Image) -> Tensor:
    """1×H×W×3 uint8, blue first: what detectors of 8 bits take."""
    return np.ascontiguousarray(image[None, ..., ::-1])


def feed_of(card: Card) -> Feed:
    """How a detector's file is fed, as its card says.

    Raises:
        ValueError: in neither of both ways.
    """
    given = card["input"]
    match given["dtype"], given["layout"], given["colour"]:
        case "uint8", "NHWC", "BGR":
            return as_picture
        case "float32", "NCHW", "RGB":
            return as_floats
    raise ValueError(f"{card['name']} takes pictures in a way that is not known here")


def letterbox(image: Image, size: tuple[int, int]) -> tuple[Image, float, float, float]:
    """``image`` centred in ``size`` (height, width) on grey.

    Also the ratio and the left and top offset in pixels that undo it.
    """
    height, width = image.shape[:2]
    ratio = min(size[0] / height, size[1] / width)
    new_w, new_h = round(width * ratio), round(height * ratio)
    left, top = (size[1] - new_w) // 2, (size[0] - new_h) // 2
    canvas = np.full((*size, 3), LETTERBOX_GREY, np.uint8)
    mode = cv2.INTER_AREA if ratio < 1 else cv2.INTER_LINEAR
    canvas[top : top + new_h, left : left + new_w] = cv2.resize(
        image, (new_w, new_h), interpolation=mode
    )
    return canvas, ratio, left, top


def suppress(boxes: Tensor, scores: Tensor, overlap: float) -> list[Found]:
    """Non-maximum suppression over x1, y1, x2, y2 boxes, best first."""
    if not len(boxes):
        return []
    sizes = np.concatenate([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]], axis=1)
    kept = cv2.dnn.NMSBoxes(sizes.tolist(), scores.tolist(), 0.0, overlap)
    rows = ((boxes[i].tolist(), float(scores[i])) for i in np.array(kept).flatten())
    return [Found((x1, y1, x2, y2), score) for (x1, y1, x2, y2), score in rows]


def load_card(model: Path) -> Card:
    """The card beside an ONNX file."""
    card: Card = json.loads(model.with_suffix(".json").read_text())
    return card


def _decode(output: Tensor, decoder: str) -> tuple[Tensor, Tensor]:
    if decoder == "end2end_rows":
        return output[:, 1:5].astype(float), output[:, 6].astype(float)
    centre = output[0, :4].T.astype(float)
    half = centre[:, 2:] / 2
    boxes = np.concatenate([centre[:, :2] - half, centre[:, :2] + half], axis=1)
    return boxes, output[0, 4:].max(axis=0).astype(float)
