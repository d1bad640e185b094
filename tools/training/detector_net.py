"""The detector's network as it is trained.

In a module of its own, because ultralytics' checkpoints name the class by where it lives.
"""

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

from tools.training.quantise import HALF

HEAD_CHANNELS = 32
"""Of each branch that says box and score. ultralytics' 64 are made for many classes and were 42 %
of the network's arithmetic; with 32 it takes four fifths of the time."""

ACTIVATION = "torch.nn.Hardswish()"
"""Nearly SiLU, which the starting weights know, without its exponential; and one operation of the
graph in place of two, so that a runtime joins it to the convolution in 8 bits too."""


class PlateModel(DetectionModel):
    """YOLOv5's body, a narrow head and a cheap activation.

    It computes in bfloat16, the loss in float32: 2x faster on CPUs that have it.
    """

    def __init__(
        self, cfg: str | dict[str, Any], ch: int = 3, nc: int = 1, verbose: bool = False
    ) -> None:
        """Build it from ultralytics' description of the layers, a name or what a file says."""
        layers = yaml_model_load(cfg) if isinstance(cfg, str) else cfg
        super().__init__({**layers, "activation": ACTIVATION}, ch=ch, nc=nc, verbose=verbose)
        head = self.model[-1]
        widths = [branch[0].conv.in_channels for branch in head.cv2]
        head.cv2 = nn.ModuleList(_branch(width, 4 * head.reg_max) for width in widths)
        head.cv3 = nn.ModuleList(_branch(width, head.nc) for width in widths)
        initialize_weights(head)
        head.bias_init()

    def predict(self, x: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        """As ultralytics' own, with float32 results."""
        with torch.autocast("cpu", torch.bfloat16, enabled=x.device.type == "cpu"):
            found = super().predict(x, *args, **kwargs)
        return _float32(found)


@torch.no_grad()
def load_exported(model: PlateModel, path: Path, images: torch.Tensor) -> None:
    """Give a network the weights of its own ONNX file, to be trained further.

    In the file each normalisation is part of the convolution before it. It is taken out again with
    the mean and variance that ``images`` (N×3×H×W, red first, 0–1) have at its place, so that the
    network computes what the file does.

    Raises:
        ValueError, KeyError: the file is of another network, or its weights have 8 bits.
    """
    arrays = {
        tensor.name.removesuffix(HALF): torch.from_numpy(
            numpy_helper.to_array(tensor).astype(np.float32)
        )
        for tensor in onnx.load(path).graph.initializer
    }
    hooks = [
        block.bn.register_forward_pre_hook(partial(_take_out, arrays.pop(f"{name}.conv.bias")))
        for name, block in model.named_modules()
        if isinstance(block, Conv)
    ]
    known = {name: array for name, array in arrays.items() if name in model.state_dict()}
    missing = [n for n, _ in model.named_parameters() if n not in known and ".bn." not in n]
    if missing:
        raise ValueError(f"{path} is no file of this network: it has no {missing[0]}")
    model.load_state_dict(known, strict=False)
    model.eval()(images)
    for hook in hooks:
        hook.remove()
    model.train()


def _take_out(bias: torch.Tensor, norm: nn.BatchNorm2d, inputs: tuple[torch.Tensor]) -> None:
    """Set a normalisation so that what it makes of its inputs is their sum with ``bias``."""
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
