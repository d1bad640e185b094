"""Defines the detector's network for training. Checkpoints contain this module's name."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import nn
from ultralytics.nn.modules.conv import Conv
from ultralytics.nn.tasks import DetectionModel, yaml_model_load
from ultralytics.utils.torch_utils import initialize_weights

from recognition.processors import computes_bf16
from tools.training.quantise import HALF

HEAD_CHANNELS = 32
"""Channels of each branch for boxes and scores. ultralytics' 64 channels are meant for many classes
and took 42 % of the network's arithmetic. With 32, the network takes four fifths of the time."""

ACTIVATION = "torch.nn.Hardswish()"
"""Hardswish is close to SiLU, with which the starting weights were trained, but has no exponential.
As a single operation, Hardswish can be fused with 8-bit convolutions."""


class PlateModel(DetectionModel):
    """The network: YOLOv5's body with a narrow head and a cheap activation function.

    The network uses bfloat16 on CPUs that support it (2x faster). The loss uses float32.
    """

    def __init__(
        self, cfg: str | dict[str, Any], ch: int = 3, nc: int = 1, verbose: bool = False
    ) -> None:
        """Build the network from ultralytics' layer description, given by name or as content."""
        layers = yaml_model_load(cfg) if isinstance(cfg, str) else cfg
        super().__init__({**layers, "activation": ACTIVATION}, ch=ch, nc=nc, verbose=verbose)
        head = self.model[-1]
        widths = [branch[0].conv.in_channels for branch in head.cv2]
        head.cv2 = nn.ModuleList(_branch(width, 4 * head.reg_max) for width in widths)
        head.cv3 = nn.ModuleList(_branch(width, head.nc) for width in widths)
        initialize_weights(head)
        head.bias_init()

    def predict(self, x: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        """Predict as ultralytics does, but return float32 results."""
        with torch.autocast("cpu", torch.bfloat16, enabled=x.is_cpu and computes_bf16()):
            found = super().predict(x, *args, **kwargs)
        return _float32(found)


@torch.no_grad()
def load_exported(model: PlateModel, path: Path, images: torch.Tensor) -> None:
    """Load the weights from an ONNX file of this network, for further training.

    In the file, each normalisation is fused with the preceding convolution. The normalisation is
    recovered from the mean and variance that ``images`` (N×3×H×W, RGB, 0–1) have at that position,
    so that the network computes the same results as the file.

    Raises:
        ValueError, KeyError: the file contains another network, or has 8-bit weights.
    """
    arrays = {
        tensor.name.removesuffix(HALF): torch.from_numpy(
            numpy_helper.to_array(tensor).astype(np.float32)
        )
        for tensor in onnx.load(path).graph.initializer
    }
    # In the file, the first convolution takes BGR.
    arrays["model.0.conv.weight"] = arrays["model.0.conv.weight"].flip(1)
    hooks = [
        block.bn.register_forward_pre_hook(partial(_take_out, arrays.pop(f"{name}.conv.bias")))
        for name, block in model.named_modules()
        if isinstance(block, Conv)
    ]
    known = {name: array for name, array in arrays.items() if name in model.state_dict()}
    missing = [n for n, _ in model.named_parameters() if n not in known and ".bn." not in n]
    if missing:
        raise ValueError(f"{path} does not contain this network's weights: {missing[0]} is missing")
    model.load_state_dict(known, strict=False)
    model.eval()(images)
    for hook in hooks:
        hook.remove()
    model.train()


def _take_out(bias: torch.Tensor, norm: nn.BatchNorm2d, inputs: tuple[torch.Tensor]) -> None:
    """Set a normalisation so that its output is the sum of its input and ``bias``."""
    values = inputs[0].float()
    mean, variance = values.mean((0, 2, 3)), values.var((0, 2, 3))
    norm.running_mean.copy_(mean)
    norm.running_var.copy_(variance)
    norm.weight.copy_((variance + norm.eps).sqrt())
    norm.bias.copy_(mean + bias)


def _branch(width: int, results: int) -> nn.Sequential:
    return nn.Sequential(
        Conv(width, HEAD_CHANNELS, 3),
        Conv(HEAD_CHANNELS, HEAD_CHANNELS, 3),
        nn.Conv2d(HEAD_CHANNELS, results, 1),
    )


def _float32(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.float() if value.is_floating_point() else value
    if isinstance(value, dict):
        return {k: _float32(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_float32(v) for v in value)
    return value
