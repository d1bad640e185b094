"""Trains the plate detector on a CPU, from YOLOv5n weights that know COCO.

``python -m recognition.training.detector train --photos DIR --labels labels.jsonl --start FILE.npz
--work DIR`` starts, or goes on after an interruption; ``... export --weights best.pt --out FILE``
writes the ONNX file.
"""

import argparse
import os
from pathlib import Path

os.environ.setdefault("YOLO_OFFLINE", "1")
os.environ.setdefault("YOLO_AUTOINSTALL", "false")

import albumentations
import numpy as np
import torch
from ultralytics import YOLO
from ultralytics.models.yolo.detect import DetectionTrainer
from ultralytics.nn.tasks import DetectionModel

from recognition.training.detector_data import write_dataset, write_description
from recognition.training.detector_net import Bfloat16Model
from recognition.training.halves import halve
from recognition.training.labels import load_labels
from recognition.training.photos import load_photos

ARCHITECTURE = "yolov5n.yaml"
OPSET = 17

PHOTO_CHANGES = (
    albumentations.ToGray(p=0.12),
    albumentations.MotionBlur(blur_limit=(3, 7), p=0.12),
    albumentations.ImageCompression(quality_range=(25, 80), p=0.2),
    albumentations.RandomBrightnessContrast(brightness_limit=(-0.5, 0.2), p=0.2),
    albumentations.GaussNoise(std_range=(0.02, 0.12), p=0.12),
)
"""What cameras do to a picture and the photos lack: infrared, motion, compression, night."""


class PlateTrainer(DetectionTrainer):
    """ultralytics' trainer with the measured CPU recipe: bfloat16, channels last, own threads."""

    start: Path | None = None
    threads = 2

    def get_model(self, cfg=None, weights=None, verbose=True):
        """A one-class network in channels-last order, from ``weights`` or from ``start``."""
        model = Bfloat16Model(cfg, nc=self.data["nc"], ch=self.data["channels"], verbose=False)
        if weights is not None:
            model.load(weights)
        elif self.start is not None:
            load_start(model, self.start)
        return model.to(memory_format=torch.channels_last)

    def preprocess_batch(self, batch):
        """As ultralytics' own, in channels-last order."""
        batch = super().preprocess_batch(batch)
        batch["img"] = batch["img"].contiguous(memory_format=torch.channels_last)
        return batch

    def _setup_train(self):
        super()._setup_train()
        torch.set_num_threads(self.threads)


def load_start(model: torch.nn.Module, path: Path) -> int:
    """Copy the tensors of ``path`` that fit into ``model``; how many did."""
    state, start = model.state_dict(), np.load(path)
    fitting = {
        k: torch.from_numpy(start[k].astype(np.float32))
        for k in start.files
        if k in state and state[k].shape == start[k].shape
    }
    model.load_state_dict(fitting, strict=False)
    print(f"start: {len(fitting)} of {len(start.files)} tensors")
    return len(fitting)


def train(args: argparse.Namespace) -> None:
    """Prepare the data set once, then train or go on training."""
    data = args.work / "data"
    if not (data / "data.yaml").exists():
        labels = load_labels(args.labels)
        for split in ("train", "val"):
            write_dataset(load_photos(args.photos, split), labels, data, split, args.seed)
        write_description(data)
    last = args.work / args.name / "weights" / "last.pt"
    overrides = _settings(args, data / "data.yaml")
    if last.exists():
        overrides |= {"model": str(last), "resume": str(last)}
    PlateTrainer.start, PlateTrainer.threads = args.start, args.threads
    PlateTrainer(overrides=overrides).train()


def export(args: argparse.Namespace) -> None:
    """Write the ONNX file: any batch, any multiple of 32 as size, no suppression inside."""
    model = YOLO(str(args.weights))
    model.model.__class__ = DetectionModel  # the graph is to compute in float32
    written = model.export(format="onnx", opset=OPSET, dynamic=True, simplify=True)
    halve(Path(written), args.out)


def _settings(args: argparse.Namespace, data: Path) -> dict:
    return {
        "model": ARCHITECTURE,
        "data": str(data),
        "project": str(args.work),
        "name": args.name,
        "exist_ok": True,
        "epochs": args.epochs,
        "imgsz": args.size,
        "batch": args.batch,
        "seed": args.seed,
        "freeze": args.freeze,
        "optimizer": "AdamW",
        "lr0": args.rate,
        "lrf": 0.02,
        "momentum": 0.9,
        "weight_decay": 0.0005,
        "cos_lr": True,
        "warmup_epochs": 0.5,
        "close_mosaic": args.close_mosaic,
        "scale": 0.75,  # plates of 13 to 115 px at the median photo: cameras see small ones
        "degrees": 6.0,
        "shear": 3.0,
        "perspective": 0.0005,
        "augmentations": list(PHOTO_CHANGES),
        "device": "cpu",
        "workers": 1,
        "cache": "ram",
        "amp": False,
        "plots": False,
        "val": False,  # under a cosine rate the last epoch is the best; that one is validated
    }


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    trainer = commands.add_parser("train")
    trainer.set_defaults(run=train)
    trainer.add_argument("--photos", type=Path, required=True)
    trainer.add_argument("--labels", type=Path, required=True)
    trainer.add_argument("--start", type=Path, required=True, help="npz of a torch state dict")
    trainer.add_argument("--work", type=Path, required=True, help="data, logs and checkpoints")
    trainer.add_argument("--name", default="detector")
    trainer.add_argument("--epochs", type=int, default=10)
    trainer.add_argument("--close-mosaic", type=int, default=2)
    trainer.add_argument("--size", type=int, default=416)
    trainer.add_argument("--batch", type=int, default=16)
    trainer.add_argument("--rate", type=float, default=0.0015)
    trainer.add_argument("--freeze", type=int, default=3, help="first layers left as they are")
    trainer.add_argument("--threads", type=int, default=2)
    trainer.add_argument("--seed", type=int, default=7)
    exporter = commands.add_parser("export")
    exporter.set_defaults(run=export)
    exporter.add_argument("--weights", type=Path, required=True)
    exporter.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
