"""Converts images to the input tensors of models, as described by model cards."""

import cv2
import numpy as np

from recognition.models.model_card import InputCard, Interpolation
from recognition.models.runtime import Shape, Tensor
from recognition.types import BgrImage


def stretch(image: BgrImage, width: int, height: int, interpolation: Interpolation) -> BgrImage:
    """Return the image resized without preserving the aspect ratio."""
    method = cv2.INTER_CUBIC if interpolation == "cubic" else cv2.INTER_LINEAR
    resized = cv2.resize(image, (width, height), interpolation=method)
    return np.asarray(resized, np.uint8)


def tensor_shape(width: int, height: int, card: InputCard) -> Shape:
    """Return the shape of the tensor for one image of this size."""
    return (1, 3, height, width) if card.layout == "NCHW" else (1, height, width, 3)


def to_tensor(images: list[BgrImage], card: InputCard) -> Tensor:
    """Return images of the same size as a batch in the card's layout.

    A batch of a single image may share the image's memory.
    """
    batch = images[0][None] if len(images) == 1 else np.stack(images)
    if card.colour == "RGB":
        batch = batch[..., ::-1]
    if card.layout == "NCHW":
        batch = batch.transpose(0, 3, 1, 2)
    if card.dtype == "uint8":
        return np.ascontiguousarray(batch)
    return np.multiply(batch, np.float32(card.scale), dtype=np.float32, order="C")
