"""Converts images to the input tensors of models, as described by model cards."""

import cv2
import numpy as np

from recognition.models.model_card import (
    ColourOrder,
    InputCard,
    Interpolation,
    TensorLayout,
    TensorType,
)
from recognition.models.runtime import Shape, Tensor
from recognition.types import BgrImage


def stretch(
    image: BgrImage,
    into_width: int,
    into_height: int,
    interpolation: Interpolation = Interpolation.LINEAR,
) -> BgrImage:
    """Return the image resized without preserving the aspect ratio."""
    cubic = interpolation is Interpolation.CUBIC
    method = cv2.INTER_CUBIC if cubic else cv2.INTER_LINEAR
    resized = cv2.resize(image, (into_width, into_height), interpolation=method)
    return np.asarray(resized, np.uint8)


def tensor_shape(width: int, height: int, card: InputCard) -> Shape:
    """Return the shape of the tensor for one image of this size."""
    is_planes = card.layout is TensorLayout.NCHW
    return (1, 3, height, width) if is_planes else (1, height, width, 3)


def to_tensor(images: list[BgrImage], card: InputCard) -> Tensor:
    """Return images of the same size as a batch in the card's layout.

    A batch of a single image may share the image's memory.
    """
    batch = images[0][None] if len(images) == 1 else np.stack(images)
    if card.colour is ColourOrder.RGB:
        batch = batch[..., ::-1]
    if card.layout is TensorLayout.NCHW:
        batch = batch.transpose(0, 3, 1, 2)
    if card.dtype is TensorType.UINT8:
        return np.ascontiguousarray(batch)
    return np.multiply(batch, np.float32(card.scale), dtype=np.float32, order="C")
