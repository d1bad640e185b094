"""Detects plates in an image with an ONNX model and its model card."""

import math

import cv2
import numpy as np
import numpy.typing as npt

from recognition.detection.canvases import Canvases, Placement, Size, letterbox, place
from recognition.models.model_card import DetectorCard, DetectorDecoder
from recognition.models.model_check import check_detector
from recognition.models.runtime import Model, Tensor, load_model
from recognition.models.tensors import tensor_shape, to_tensor
from recognition.models.third_party_models import detector_card
from recognition.settings import RecognizerSettings
from recognition.types import BgrImage, Box, Boxes, Detection, ious

Scores = npt.NDArray[np.float64]
"""Array of N values from 0 to 1."""

MIN_PLATE_PX = (16, 6)
"""Minimum width and height of a searched image. The smallest readable plates are 7 px high with one
row, or 24 px wide with two rows."""

_SAME_PLATE_IOU = 0.5
_SAME_PLATE_SCORE = 0.5
"""Minimum score of a box that counts in the mean box, relative to the best box's score."""
MAX_PLATES = 50
"""Maximum number of plates in an image, as a protection against unusual images."""


class Detector:
    """A loaded detector. Not thread-safe."""

    def __init__(self, card: DetectorCard, model: Model, settings: RecognizerSettings) -> None:
        """Read the card. The settings can override the card's threshold and input size."""
        self._card = card
        self._model = model
        wanted = settings.recognition_detection_threshold
        self.threshold = card.output.score_threshold if wanted is None else wanted
        """Minimum score of a plate, 0 to 1."""
        self.iou_threshold = card.output.iou_threshold
        """Overlap (0 to 1) above which boxes belong to the same plate."""
        self.plate_probability_card = card.plate_chance
        self.classes = card.output.classes
        self._canvases = Canvases(card.input, settings)
        self._on_cpu = settings.runs_on_cpu
        self.smallest_canvas = self._canvases.smallest
        """Width and height in pixels."""
        self.has_canvases = len(self._canvases.sizes) > 1
        self.max_plates = MAX_PLATES

    @classmethod
    def load(cls, settings: RecognizerSettings) -> "Detector":
        """Load the configured detector.

        Raises:
            MisconfiguredError: a file is missing or invalid.
        """
        path = settings.detector_path
        card = detector_card(path)
        canvases = Canvases(card.input, settings)
        shapes = [tensor_shape(*size, card.input) for size in canvases.sizes]
        model = load_model(path, settings, settings.precision, shapes)
        # Other canvases are prepared when they are first needed, in about a second.
        check_detector(card, model, {canvases.sizes[0], canvases.smallest})
        return cls(card, model, settings)

    def detect(self, image: BgrImage) -> list[Detection]:
        """Return the plates in the image, best first, in pixels of the image."""
        return self.search(image, self.threshold)

    def detect_all(self, images: list[BgrImage]) -> list[list[Detection]]:
        """Return the plates in each image, best first, in image pixels (:meth:`search_all`)."""
        return self.search_all(images, self.threshold)

    def search(
        self,
        image: BgrImage,
        threshold: float,
        *,
        canvas: Size | None = None,
        largest_px: float = math.inf,
    ) -> list[Detection]:
        """Return detections scoring at least ``threshold`` (0 to 1), best first, in image pixels.

        The image is scaled to ``canvas`` (width, height), by default the canvas for its size.
        Neither side of the scaled image is longer than ``largest_px``.
        """
        return self.search_all([image], threshold, canvas=canvas, largest_px=largest_px)[0]

    def search_all(
        self,
        images: list[BgrImage],
        threshold: float,
        *,
        canvas: Size | None = None,
        largest_px: float = math.inf,
    ) -> list[list[Detection]]:
        """Return the detections in each image (:meth:`search`). A GPU uses one batch if possible.

        There are no detections in an image smaller than :data:`MIN_PLATE_PX`.
        """
        grey = self._card.input.pad_value or 0
        searched = list(filter(_has_space_for_plate, images))
        sizes = [canvas or self._canvas(image) for image in searched]
        placed = [
            letterbox(image, *size, grey, largest_px)
            for image, size in zip(searched, sizes, strict=True)
        ]
        outputs = self._outputs([letterboxed for letterboxed, _ in placed])
        found = (
            self._detections(output, threshold, image, where)
            for output, image, (_, where) in zip(outputs, searched, placed, strict=True)
        )
        return [next(found) if _has_space_for_plate(image) else [] for image in images]

    def _outputs(self, images: list[BgrImage]) -> list[Tensor]:
        """Return the output of each letterboxed image. CPUs get no batches, which gain nothing."""
        card, is_one_size = self._card, len({image.shape for image in images}) == 1
        if is_one_size and len(images) > 1 and card.input.dynamic_batch and not self._on_cpu:
            output = self._run(images)
            return [self._rows_of(output, index) for index in range(len(images))]
        return [self._run([image]) for image in images]

    def _run(self, images: list[BgrImage]) -> Tensor:
        return self._model.run(to_tensor(images, self._card.input))[self._card.output.name]

    def _rows_of(self, output: Tensor, index: int) -> Tensor:
        """Return the part of a batch's output that belongs to one image."""
        if self._card.output.decoder is DetectorDecoder.END2END_ROWS:
            return np.asarray(output[output[:, 0] == index])
        return output[index : index + 1]

    def _detections(
        self, output: Tensor, threshold: float, image: BgrImage, where: Placement
    ) -> list[Detection]:
        boxes, scores, kinds = self._decode(output, threshold)
        boxes = _undo_letterbox(boxes, where, image)
        usable = np.flatnonzero((scores >= threshold) & (boxes[:, 2:] - boxes[:, :2] > 1).all(1))
        boxes, scores, kinds = boxes[usable], scores[usable], kinds[usable]
        best = _non_maximum_suppression(boxes, scores, self.iou_threshold)[: self.max_plates]
        return [
            Detection(*_weighted_mean_box(boxes, scores, i), float(scores[i]), self._kind(kinds[i]))
            for i in best
        ]

    def scale(self, image: BgrImage) -> float:
        """Return the scale of an image in :meth:`detect`, in input pixels per image pixel."""
        height, width = image.shape[:2]
        return place(width, height, *self._canvas(image)).scale

    def _canvas(self, image: BgrImage) -> Size:
        height, width = image.shape[:2]
        return self._canvases.choose(width, height)

    def _decode(
        self, output: Tensor, threshold: float
    ) -> tuple[Boxes, Scores, npt.NDArray[np.int64]]:
        if self._card.output.decoder is DetectorDecoder.END2END_ROWS:
            rows = output.astype(np.float64)
            return rows[:, 1:5], rows[:, 6], rows[:, 5].astype(np.int64)
        # Most of the thousands of anchors have a score near 0, and are dropped before arithmetic.
        scores = output[0, 4:].max(axis=0)
        likely = output[0][:, scores >= threshold].astype(np.float64)
        half = likely[2:4] / 2
        boxes = np.concatenate([likely[:2] - half, likely[:2] + half]).T
        return boxes, likely[4:].max(axis=0), likely[4:].argmax(axis=0)

    def _kind(self, index: np.int64) -> str:
        classes = self._card.output.classes
        return classes[index] if 0 <= index < len(classes) else classes[0]


def _has_space_for_plate(image: BgrImage) -> bool:
    width, height = MIN_PLATE_PX
    return bool(image.shape[1] >= width and image.shape[0] >= height)


def suppress_overlapping(found: list[Detection], iou_threshold: float) -> list[Detection]:
    """Return the detections, best first, without overlaps above ``iou_threshold`` (0 to 1)."""
    boxes = np.array([f.box for f in found]).reshape(-1, 4)
    return [
        found[i]
        for i in _non_maximum_suppression(boxes, np.array([f.score for f in found]), iou_threshold)
    ]


def _non_maximum_suppression(boxes: Boxes, scores: Scores, iou_threshold: float) -> list[int]:
    """Return the indices of boxes that overlap no better box, best first."""
    if not len(boxes):
        return []
    sized = np.concatenate([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]], axis=1)
    kept = cv2.dnn.NMSBoxes(sized.tolist(), scores.tolist(), 0.0, iou_threshold)
    return [int(index) for index in np.asarray(kept).reshape(-1)]


def _weighted_mean_box(boxes: Boxes, scores: Scores, best: int) -> Box:
    """Return the mean of the best box and other boxes of the same plate, weighted by score.

    The mean box is closer to the plate than the best box (mean IoU of 0.827 instead of 0.821).

    **Source:** Solovyev et al., Weighted boxes fusion, 2021.
    """
    near = ious(_as_box(boxes[best]), boxes) >= _SAME_PLATE_IOU
    same = near & (scores >= _SAME_PLATE_SCORE * scores[best])
    weights = scores[same] ** 2
    return _as_box(weights @ boxes[same] / weights.sum())


def _undo_letterbox(boxes: Boxes, where: Placement, image: BgrImage) -> Boxes:
    height, width = image.shape[:2]
    offset = [where.left, where.top, where.left, where.top]
    inside: Boxes = np.clip((boxes - offset) / where.scale, 0, [width, height, width, height])
    return inside


def _as_box(row: npt.NDArray[np.float64]) -> Box:
    left, top, right, bottom = (float(edge) for edge in row)
    return left, top, right, bottom
