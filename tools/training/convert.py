"""Converts an ultralytics detector to ONNX: ``python -m tools.training.convert PT ONNX``."""

import os
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

OPSET = 17


def convert(checkpoint: Path, out: Path) -> None:
    """Convert ``checkpoint`` to ``out``, with dynamic batch and image size and without NMS.

    Raises:
        SystemExit: the libraries are missing, or the checkpoint is not a detector.
    """
    try:
        from ultralytics import YOLO
        from ultralytics.nn.tasks import DetectionModel
    except ImportError as error:
        raise SystemExit(
            f"a .pt file requires ultralytics (pip install -e '.[train]' in the clone): {error}"
        ) from error
    with TemporaryDirectory(dir=out.parent) as folder:
        copy = Path(shutil.copy(checkpoint, folder))
        model = YOLO(str(copy))
        if model.task != "detect":
            raise SystemExit(f"{checkpoint} is a model for {model.task}, not for detection")
        if isinstance(model.model, DetectionModel):
            model.model.__class__ = DetectionModel  # export float32, not bfloat16
        written = model.export(format="onnx", opset=OPSET, dynamic=True, simplify=True)
        Path(written).replace(out)


def main() -> None:
    """Convert the given file."""
    os.environ.setdefault("YOLO_OFFLINE", "1")
    os.environ.setdefault("YOLO_AUTOINSTALL", "false")
    convert(Path(sys.argv[1]), Path(sys.argv[2]))


if __name__ == "__main__":
    main()
