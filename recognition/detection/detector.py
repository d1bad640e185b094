"""Detects plates in an image with an ONNX model and its card."""

import math
from collections.abc import Sequence

import cv2
import numpy as np
import numpy.typing as npt

from recognition.analysis_hints import AnalysisHints
from recognition.detection.input_sizing import InputSizing, Placement, letterbox
from recognition.models.model_card import DetectorCard, DetectorDecoder
from recognition.models.model_check import check_detector
from recognition.models.runtime import Model, Tensor, load_model
from recognition.models.tensors import tensor_shape, to_tensor
from recognition.models.third_party_models import detector_card
from recognition.settings import RecognizerSettings
from recognition.types import BgrImage, Box, Boxes, Detection, ious

USUAL_IMAGE_PX = (1920, 1080)
"""The size that most cameras send: images with the same input size as this one cost less."""

Scores = npt.NDArray[np.float64]
"""N values, 0..1."""

MIN_PLATE_PX = (16, 6)
"""Width and height of the smallest image that is searched. The smallest plates that are read are
7 px high, or 24 px wide if they have two rows."""

_SAME_PLATE_IOU = 0.5
_SAME_PLATE_SCORE = 0.5
MAX_PLATES = 50
"""Plates of one image, best first: a guard against odd images."""
"""Of the best box's score: boxes that score less have no weight in the mean box."""


class Detector:
    """A loaded detector. Not for two threads at a time."""

    def __init__(self, card: DetectorCard, model: Model, settings: RecognizerSettings) -> None:
        """Read the card; the settings may override its threshold and input size."""
        self._card = card
        self._model = model
        wanted = settings.recognition_detection_threshold
        self.threshold = card.output.score_threshold if wanted is None else wanted
        """The minimum score, 0..1, of a plate."""
        self.iou_threshold = card.output.iou_threshold
        """Boxes that overlap more than this, 0..1, are of one plate."""
        self.plate_probability_card = card.plate_chance
        self.classes = card.output.classes
        self.stride = card.input.stride
        """In pixels: the sides of what the model takes are multiples of it."""
        self._sizing = InputSizing(card.input, settings)
        self._on_cpu = settings.runs_on_cpu
        self.takes_any_size = self._sizing.takes_any_size
        """Images may be searched in any size: the model takes it, and runs on a processor."""
        self.max_plates = MAX_PLATES

    @classmethod
    def load(cls, settings: RecognizerSettings) -> "Detector":
        """Load the detector that the settings name.

        Raises:
            MisconfiguredError: a file is missing or does not fit.
        """
        path = settings.detector_path
        card = detector_card(path)
        usual_px = InputSizing(card.input, settings).size_px(*USUAL_IMAGE_PX)
        usual = tensor_shape(*usual_px, card.input)
        model = load_model(path, settings, settings.precision, usual)
        check_detector(card, model, usual_px)
        return cls(card, model, settings)

    def detect(self, image: BgrImage) -> list[Detection]:
        """Return the plates in the image, best first, in pixels of the image."""
        return self.search(image, self.threshold)

    def detect_all(
        self, images: list[BgrImage], hints: Sequence[AnalysisHints] | None = None
    ) -> list[list[Detection]]:
        """Return the plates in each image, best first, in pixels of the image; also known ones."""
        return self.search_all(images, self.threshold)

    def search(
        self,
        image: BgrImage,
        threshold: float,
        *,
        input_px: tuple[int, int] | None = None,
        largest_px: int | None = None,
    ) -> list[Detection]:
        """Return detections of ``threshold`` (0..1) and above, best first, in pixels of the image.

        The image is brought to ``input_px`` (width, height; multiples of the model's stride, for
        a model that takes any size), by default to the size of the card or the settings; to
        ``largest_px`` a side at most (a multiple of the stride), with grey around it where the
        model takes one size only.
        """
        return self.search_all([image], threshold, input_px=input_px, largest_px=largest_px)[0]

    def search_all(
        self,
        images: list[BgrImage],
        threshold: float,
        *,
        input_px: tuple[int, int] | None = None,
        largest_px: int | None = None,
    ) -> list[list[Detection]]:
        """Return the detections in each image (:meth:`search`); on a GPU in one run if possible.

        An image smaller than :data:`MIN_PLATE_PX` has none.
        """
        grey = self._card.input.pad_value or 0
        largest = largest_px or math.inf
        searched = list(filter(_has_space_for_plate, images))
        sizes = [input_px or self._input_px(image, largest_px) for image in searched]
        placed = [
            letterbox(image, *size, grey, largest)
            for image, size in zip(searched, sizes, strict=True)
        ]
        outputs = self._outputs([letterboxed for letterboxed, _ in placed])
        found = (
            self._detections(output, threshold, image, where)
            for output, image, (_, where) in zip(outputs, searched, placed, strict=True)
        )
        return [next(found) if _has_space_for_plate(image) else [] for image in images]

    def _outputs(self, images: list[BgrImage]) -> list[Tensor]:
        """Return the output of each letterboxed image, as if it were run alone.

        A processor gains nothing from batches.
        """
        card, is_one_size = self._card, len({image.shape for image in images}) == 1
        if is_one_size and len(images) > 1 and card.input.dynamic_batch and not self._on_cpu:
            output = self._run(images)
            return [self._rows_of(output, index) for index in range(len(images))]
        return [self._run([image]) for image in images]

    def _run(self, images: list[BgrImage]) -> Tensor:
        return self._model.run(to_tensor(images, self._card.input))[self._card.output.name]

    def _rows_of(self, output: Tensor, index: int) -> Tensor:
        """Return the part of a batch's output that belongs to one image of it."""
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
        """Return the scale of an image in :meth:`detect`: pixels of the input by its own."""
        height, width = image.shape[:2]
        return self._sizing.scale(width, height)

    def _input_px(self, image: BgrImage, largest_px: int | None) -> tuple[int, int]:
        height, width = image.shape[:2]
        return self._sizing.size_px(width, height, largest_px)

    def _decode(
        self, output: Tensor, threshold: float
    ) -> tuple[Boxes, Scores, npt.NDArray[np.int64]]:
        if self._card.output.decoder is DetectorDecoder.END2END_ROWS:
            rows = output.astype(np.float64)
            return rows[:, 1:5], rows[:, 6], rows[:, 5].astype(np.int64)
        # Most of the thousands of anchors score near 0: drop them before any arithmetic.
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
    """Return the detections best first, without those that overlap a better one by more (0..1)."""
    boxes = np.array([f.box for f in found]).reshape(-1, 4)
    return [
        found[i]
        for i in _non_maximum_suppression(boxes, np.array([f.score for f in found]), iou_threshold)
    ]


def _non_maximum_suppression(boxes: Boxes, scores: Scores, iou_threshold: float) -> list[int]:
    """Indices of the boxes (left, top, right, bottom) that overlap no better one, best first."""
    if not len(boxes):
        return []
    sized = np.concatenate([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]], axis=1)
    kept = cv2.dnn.NMSBoxes(sized.tolist(), scores.tolist(), 0.0, iou_threshold)
    return [int(index) for index in np.asarray(kept).reshape(-1)]


def _weighted_mean_box(boxes: Boxes, scores: Scores, best: int) -> Box:
    """Return the mean of the boxes of the same plate as the best one, weighted by their scores.

    It lies nearer to the plate than the best box does (mean IoU of 0.827 in place of 0.821).

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
