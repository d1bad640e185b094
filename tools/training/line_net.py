"""The second reader's graph as a trainable network, and back into an ONNX file.

Large weights lie in the file in 16 bits, each behind a node that widens it again.
"""

from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

from tools.training.reader_net import trainable

HALVED_FROM = 1000
"""Weights of so many numbers or more are kept in the file in 16 bits."""

_HALF = "/16"


def load_line_network(path: Path) -> tuple[torch.nn.Module, dict[str, torch.nn.Parameter]]:
    """The network of a second reader's file and its trainable weights by the ONNX names.

    The network maps N×48×W×3 bytes (blue first) to N×places×classes logarithms; W is a multiple
    of 16. Normalisation keeps the statistics of the file.
    """
    model = _with_plain_pads(widened(onnx.load(path)))
    norms = (node for node in model.graph.node if node.op_type == "BatchNormalization")
    statistics = {name for node in norms for name in node.input[3:]}
    network, weights = trainable(
        model, lambda name, array: array.size > 1 and name not in statistics
    )
    return network.eval(), weights


def write_line_network(start: Path, weights: dict[str, torch.Tensor], out: Path) -> None:
    """Write the graph of ``start`` with ``weights`` in place of its own, large ones in 16 bits."""
    model = widened(onnx.load(start))
    for initialiser in model.graph.initializer:
        if initialiser.name in weights:
            array = weights[initialiser.name].detach().numpy().astype(np.float32)
            initialiser.CopyFrom(numpy_helper.from_array(array, initialiser.name))
    write_halved(model, out)


def write_halved(model: onnx.ModelProto, out: Path) -> None:
    """Write a model, checked, its large weights in 16 bits."""
    graph = model.graph
    tensors, casts = _halved(list(graph.initializer))
    nodes = [*casts, *graph.node]
    del graph.initializer[:], graph.node[:]
    graph.initializer.extend(tensors)
    graph.node.extend(nodes)
    model.producer_name = "platestream"
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, out)


def widened(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same model with all of its weights in 32 bits."""
    graph = model.graph
    halves = {i.name: numpy_helper.to_array(i) for i in graph.initializer if _is_half(i)}
    casts = [node for node in graph.node if node.op_type == "Cast" and node.input[0] in halves]
    for cast in casts:
        array = halves[cast.input[0]].astype(np.float32)
        graph.initializer.append(numpy_helper.from_array(array, cast.output[0]))
        graph.node.remove(cast)
    for initialiser in [i for i in graph.initializer if _is_half(i)]:
        graph.initializer.remove(initialiser)
    return model


def _is_half(initialiser: onnx.TensorProto) -> bool:
    return str(initialiser.name).endswith(_HALF)


def _halved(
    tensors: list[onnx.TensorProto],
) -> tuple[list[onnx.TensorProto], list[onnx.NodeProto]]:
    """The same tensors, the large ones in 16 bits, and the nodes that widen them again."""
    kept, casts = [], []
    for tensor in tensors:
        array = numpy_helper.to_array(tensor)
        if array.dtype != np.float32 or array.size < HALVED_FROM:
            kept.append(tensor)
            continue
        name = tensor.name + _HALF
        kept.append(numpy_helper.from_array(array.astype(np.float16), name))
        casts.append(helper.make_node("Cast", [name], [tensor.name], to=TensorProto.FLOAT))
    return kept, casts


def _with_plain_pads(model: onnx.ModelProto) -> onnx.ModelProto:
    """Say in numbers what padding to the same size is: onnx2torch knows no other way.

    All sides are multiples of the steps here, so it is the same for every width.
    """
    shapes = {i.name: list(i.dims) for i in model.graph.initializer}
    for node in model.graph.node:
        said = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        if said.get("auto_pad") != b"SAME_UPPER":
            continue
        kernel = said.get("kernel_shape") or shapes[node.input[1]][2:]
        steps = said.get("strides", [1] * len(kernel))
        missing = [size - step for size, step in zip(kernel, steps, strict=True)]
        pads = [side // 2 for side in missing] + [side - side // 2 for side in missing]
        kept = [a for a in node.attribute if a.name not in ("auto_pad", "pads")]
        del node.attribute[:]
        node.attribute.extend([*kept, helper.make_attribute("pads", pads)])
    return model
