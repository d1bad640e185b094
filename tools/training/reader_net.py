"""Converts the published reader's graph to a trainable network, and back to an ONNX file.

Training does not change the graph, only the values of the weights.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import onnx2torch
import torch
from onnx import numpy_helper, version_converter

OPSET = 17


def load_network(path: Path) -> tuple[torch.nn.Module, dict[str, torch.nn.Parameter]]:
    """Return the network in an ONNX file, and the trainable weights by ONNX initialiser name.

    The network maps N×3-channel images with values from 0 to 255 to slot and region probabilities.
    """
    model = onnx.load(path)
    network = onnx2torch.convert(model)
    # The conversion loses the names, so weights are matched by value.
    by_value = {_key(t): (owner, name) for owner, name, t in _tensors(network)}
    weights = {}
    for initialiser in model.graph.initializer:
        array = numpy_helper.to_array(initialiser)
        if array.dtype != np.float32 or not _is_learnt(initialiser.name):
            continue
        owner, name = by_value.pop(_key(torch.from_numpy(array.copy())))
        value = getattr(owner, name).detach().clone()
        if name in owner._buffers:
            del owner._buffers[name]
        parameter = torch.nn.Parameter(value)
        setattr(owner, name, parameter)
        weights[initialiser.name] = parameter
    for parameter in network.parameters():
        parameter.requires_grad_(False)
    for parameter in weights.values():
        parameter.requires_grad_(True)
    return network, weights


def write_onnx(start: Path, weights: dict[str, torch.Tensor], out: Path) -> None:
    """Write the graph of ``start`` to a file, with its weights replaced by ``weights``."""
    model = onnx.load(start)
    for initialiser in model.graph.initializer:
        if initialiser.name in weights:
            array = weights[initialiser.name].detach().numpy().astype(np.float32)
            initialiser.CopyFrom(numpy_helper.from_array(array, initialiser.name))
    model = version_converter.convert_version(model, OPSET)
    model.producer_name, model.producer_version, model.doc_string = "platestream", "", ""
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, out)


def with_alike(logs: torch.Tensor, alike: torch.Tensor, zero: int, letter: int) -> torch.Tensor:
    """Return N×slots×classes log probabilities, with O added to 0 for labels that use 0 for both.

    ``alike`` selects crops with such labels. ``zero`` and ``letter`` are the classes of 0 and O.
    """
    both = torch.logaddexp(logs[..., zero], logs[..., letter])
    merged = logs.clone()
    merged[..., zero] = torch.where(alike[:, None], both, logs[..., zero])
    return merged


def _is_learnt(name: str) -> bool:
    """Return whether a float initialiser is trained. Pooling filters and constants are not."""
    return "const_fold" not in name and not name.endswith("Cast/x:0")


def _tensors(network: torch.nn.Module) -> Iterator[tuple[torch.nn.Module, str, torch.Tensor]]:
    for owner in network.modules():
        for name, tensor in [*owner._parameters.items(), *owner._buffers.items()]:
            if tensor is not None and tensor.dtype == torch.float32:
                yield owner, name, tensor


def _key(tensor: torch.Tensor) -> tuple[tuple[int, ...], bytes]:
    return tuple(tensor.shape), tensor.detach().contiguous().numpy().tobytes()
