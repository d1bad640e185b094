"""The detector's network as it is trained.

In a module of its own, because ultralytics' checkpoints name the class by where it lives.
"""

from typing import Any

import torch
from ultralytics.nn.tasks import DetectionModel


class Bfloat16Model(DetectionModel):
    """The network computes in bfloat16, the loss in float32; 2x faster on CPUs that have it."""

    def predict(self, x: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        """As ultralytics' own, with float32 results."""
        with torch.autocast("cpu", torch.bfloat16, enabled=x.device.type == "cpu"):
            found = super().predict(x, *args, **kwargs)
        return _float32(found)


def _float32(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.float() if value.is_floating_point() else value
    if isinstance(value, dict):
        return {k: _float32(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_float32(v) for v in value)
    return value
