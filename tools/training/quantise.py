"""Quantises a detector's convolutions to 8 bits: half the time of 16 bits, a quarter of 32 bits.

Only the inputs of convolutions are quantised. Outputs are not quantised, so that a runtime can fuse
the activation with the convolution, and boxes (hundreds of pixels) and scores (0-1) never share a
scale (tools/training/HISTORY.md). The input is the decoded image, whose pixels already have 8 bits.

The other file uses floats. The weights are stored in 16 bits, as in checkpoints.
"""

import random
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import (
    CalibrationDataReader,
    CalibrationMethod,
    QuantFormat,
    QuantType,
    quantize_static,
)

from recognition.detection.canvases import letterbox
from recognition.evaluation.photos import Photo
from recognition.images import decode_image
from recognition.models.model_card import InputCard
from recognition.models.tensors import to_tensor
from recognition.models.third_party_models import DEFAULT_GREY, detector_card

HALF = ".half"
"""Name suffix of weights that are stored in 16 bits."""

SMALLEST = 256
"""Minimum number of elements for which storing a tensor in 16 bits is worthwhile."""

CALIBRATION_PHOTOS = 100
CALIBRATION_PX = 640

PIXEL_SCALE = 1 / 255
"""Scale of the first convolution's input: one step of the 8-bit input is one step of a pixel."""

WITHOUT = "dfl"
"""Name part of operations that turn distributions into distances, which are not quantised."""


class _Photos(CalibrationDataReader):
    def __init__(self, photos: list[Photo], card: InputCard) -> None:
        self._feeds = self._each(photos, card)

    def get_next(self) -> dict[str, Any] | None:
        """Return the next photo as the detector's input, or None at the end."""
        return next(self._feeds, None)

    @staticmethod
    def _each(photos: list[Photo], card: InputCard) -> Iterator[dict[str, Any]]:
        for photo in photos:
            image = decode_image(photo.path.read_bytes())
            canvas, _ = letterbox(image, CALIBRATION_PX, CALIBRATION_PX, DEFAULT_GREY)
            yield {card.name: to_tensor([canvas], card)}


def quantise(source: Path, out: Path, photos: list[Photo], seed: int) -> None:
    """Write ``source`` to ``out`` with 8-bit convolutions, calibrated with ``photos``.

    ``source`` is an ultralytics export with 32-bit floats and without a card. Weights get only 7
    bits, because CPUs without VNNI add two products in 16 bits, which would overflow.
    """
    chosen = random.Random(seed).sample(photos, min(CALIBRATION_PHOTOS, len(photos)))
    graph = onnx.load(source).graph
    pixels = {"scale": np.array(PIXEL_SCALE, np.float32), "zero_point": np.array(0, np.uint8)}
    with TemporaryDirectory() as folder:
        written = Path(folder) / "quantised.onnx"
        quantize_static(
            source,
            written,
            _Photos(chosen, detector_card(source).input),
            quant_format=QuantFormat.QDQ,
            per_channel=True,
            reduce_range=True,
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
            calibrate_method=CalibrationMethod.MinMax,
            op_types_to_quantize=["Conv"],
            nodes_to_exclude=[n.name for n in graph.node if WITHOUT in n.name],
            extra_options={
                "OpTypesToExcludeOutputQuantization": ["Conv"],
                "TensorQuantOverrides": {graph.input[0].name: [pixels]},
            },
        )
        model = onnx.load(written)
    take_pictures(model)
    save_plain(model, out)


def take_pictures(model: onnx.ModelProto) -> None:
    """Change the input of an 8-bit detector to decoded images: uint8, N×H×W×3, BGR.

    The graph quantised its floats (N×3×H×W, RGB, pixel ÷ 255) back to these values. The results do
    not change (measured), and a 768x448 px image takes 16.5 ms instead of 18 ms.
    """
    graph, pictures = model.graph, model.graph.input[0].name
    (to_8_bits,) = _takers(graph, pictures)
    (to_floats,) = _takers(graph, to_8_bits.output[0])
    to_floats.input[0] = pictures
    # OpenVINO only computes the first convolution in 8 bits if the conversion to floats comes
    # before the transposition.
    _take_planes(graph, to_floats)
    graph.node.remove(to_8_bits)


def take_float_pictures(model: onnx.ModelProto) -> None:
    """Change the input of a float detector to decoded images: a quarter of the bytes for a GPU."""
    graph, pictures = model.graph, model.graph.input[0].name
    (first,) = _takers(graph, pictures)
    scale = numpy_helper.from_array(np.array(PIXEL_SCALE, np.float32), "pixel_scale")
    graph.initializer.append(scale)
    cast = helper.make_node("Cast", [pictures], ["pixels"], to=TensorProto.FLOAT)
    scaled = helper.make_node("Mul", ["pixels", scale.name], ["scaled_pixels"])
    first.input[0] = scaled.output[0]
    graph.node.insert(0, scaled)
    graph.node.insert(0, cast)
    _take_planes(graph, scaled)


def _take_planes(graph: onnx.GraphProto, pixels: onnx.NodeProto) -> None:
    """Change the input from planes (RGB) to pixels (BGR). Transpose the output of ``pixels``."""
    (first,) = _takers(graph, pixels.output[0])
    makers = {output: node for node in graph.node for output in node.output}
    for initialiser in graph.initializer:
        if initialiser.name == makers[first.input[1]].input[0]:
            # The weights are outputs x colours x height x width. Swap red and blue.
            turned = np.ascontiguousarray(numpy_helper.to_array(initialiser)[:, ::-1])
            initialiser.CopyFrom(numpy_helper.from_array(turned, initialiser.name))
    sides = graph.input[0].type.tensor_type.shape.dim
    batch, _, height, width = (side.dim_param for side in sides)
    kind = helper.make_tensor_type_proto(TensorProto.UINT8, [batch, height, width, 3])
    graph.input[0].type.CopyFrom(kind)
    first.input[0] = f"{graph.input[0].name}_planes"
    planes = helper.make_node("Transpose", [pixels.output[0]], [first.input[0]], perm=[0, 3, 1, 2])
    graph.node.insert(list(graph.node).index(pixels) + 1, planes)


def _takers(graph: onnx.GraphProto, tensor: str) -> list[onnx.NodeProto]:
    return [node for node in graph.node if tensor in node.input]


def halve(source: Path, out: Path) -> None:
    """Write ``source`` to ``out`` with large 32-bit weights stored in 16 bits."""
    model = onnx.load(source)
    casts = []
    for initialiser in model.graph.initializer:
        array = numpy_helper.to_array(initialiser)
        if array.dtype != np.float32 or array.size < SMALLEST:
            continue
        name = initialiser.name
        half = numpy_helper.from_array(array.astype(np.float16), name + HALF)
        initialiser.CopyFrom(half)
        casts.append(helper.make_node("Cast", [half.name], [name], to=TensorProto.FLOAT))
    for cast in reversed(casts):
        model.graph.node.insert(0, cast)
    take_float_pictures(model)
    save_plain(model, out)


def save_plain(model: onnx.ModelProto, out: Path) -> None:
    """Check and write ``model`` without the producer's metadata, which the card replaces."""
    model.producer_name, model.producer_version, model.doc_string = "platestream", "", ""
    del model.metadata_props[:]  # the properties contain paths of this machine
    del model.graph.value_info[:]  # runtimes infer the sizes, which differ between exports
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, out)
