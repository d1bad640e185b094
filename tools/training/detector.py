"""Trains the plate detector on a CPU, starting from YOLOv5n weights trained on COCO.

``python -m tools.training.detector train --photos DIR --labels labels.jsonl --start FILE
--work DIR`` starts training, or resumes an interrupted training. ``... export --weights last.pt
--out FILE`` writes the ONNX file. ``work/detector`` shows the progress: the loss of each epoch
(``results.csv``) and some training batches (``train_batch*.jpg``).
"""

import argparse
import math
import os
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("YOLO_OFFLINE", "1")
os.environ.setdefault("YOLO_AUTOINSTALL", "false")

import albumentations
import cv2
import numpy as np
import torch
from ultralytics import YOLO
from ultralytics.models.yolo.detect import DetectionTrainer
from ultralytics.nn.tasks import DetectionModel

from tools.training.detector_data import Drawn, write_dataset, write_description, write_others
from tools.training.detector_net import PlateModel, load_exported
from tools.training.labels import load_labels
from tools.training.photos import load_photos, read_image
from tools.training.quantise import halve, quantise

Batch = dict[str, Any]
"""A batch from ultralytics' data loader, which contains tensors and lists by name."""

NAME, ARCHITECTURE = "detector", "yolov5n.yaml"
OPSET = 17

PHOTO_CHANGES = (
    albumentations.ToGray(p=0.12),
    albumentations.MotionBlur(blur_limit=(3, 7), p=0.12),
    albumentations.ImageCompression(quality_range=(25, 80), p=0.2),
    albumentations.RandomBrightnessContrast(brightness_limit=(-0.5, 0.2), p=0.2),
    albumentations.GaussNoise(std_range=(0.02, 0.12), p=0.12),
)
"""Camera effects that the photos lack: infrared, motion, compression and night."""


RATE, LAST_RATE_SHARE, WARM_UP_STEPS = 0.0008, 0.01, 100

SCALE = (0.4, 2.1)
"""Range of the factor by which photos are scaled. Training on crops of 416 px, from photos around
the engine's width (640 px), costs half as much as training on whole photos of that width."""

SIZE_PX, BATCH, FROZEN_LAYERS = 416, 8, 1
SOME_PHOTOS = 96
"""Number of photos with which the normalisations of an exported file are recovered."""

TURN_DEGREES = 1.5
"""Maximum rotation of a photo. Boxes remain level: at 6 degrees, the box of a wide plate would be
40 % higher than the plate, and the detector would learn such boxes."""


class PlateTrainer(DetectionTrainer):
    """ultralytics' trainer, tuned for CPUs: bfloat16, channels last and few threads."""

    start: Path | None = None
    threads = 2
    minutes = math.inf
    rate = RATE

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Initialise ultralytics' trainer, a step counter and the start time."""
        super().__init__(*args, **kwargs)
        self.step, self.began = -1, time.monotonic()

    def get_model(
        self, cfg: Any = None, weights: torch.nn.Module | None = None, verbose: bool = True
    ) -> torch.nn.Module:
        """Return a one-class network in channels-last order, from ``weights`` or ``start``."""
        model = PlateModel(cfg, nc=self.data["nc"], ch=self.data["channels"], verbose=False)
        if weights is not None:
            model.load(weights)
        elif self.start is not None:
            load_start(model, self.start, Path(self.data["train"]))
        return model.to(memory_format=torch.channels_last)

    def preprocess_batch(self, batch: Batch) -> Batch:
        """Prepare a batch as ultralytics does, but in channels-last order."""
        batch = super().preprocess_batch(batch)
        batch["img"] = batch["img"].contiguous(memory_format=torch.channels_last)
        return batch

    def get_dataloader(self, *args: Any, **kwargs: Any) -> Any:
        """Return ultralytics' loader, which prepares photos in a separate process even on CPUs."""
        self.args.workers = 1
        return super().get_dataloader(*args, **kwargs)

    def optimizer_step(self) -> None:
        """Make a step. Even if the time is limited, the rate decays to the final value."""
        self.step = self.step + 1 if self.step >= 0 else self.start_epoch * len(self.train_loader)
        done = (self.step + 1) / (self.epochs * len(self.train_loader))
        done = min(1.0, max(done, (time.monotonic() - self.began) / 60 / self.minutes))
        for group in self.optimizer.param_groups:
            group["lr"] = rate_at(self.rate, self.step, done)
        super().optimizer_step()
        self.stop: bool = self.stop or done >= 1.0

    def validate(self) -> tuple[Any, float]:
        """Skip validation. ``platestream evaluate`` measures accuracy at the engine's size."""
        return self.metrics, 0.0

    def final_eval(self) -> None:
        """Skip the final validation for the same reason as ``validate``."""

    def save_model(self) -> bool:
        """Save a checkpoint as ultralytics does, but replace the old file atomically."""
        last: Path = self.wdir / "last.pt"
        self.last = last.with_suffix(".new")
        is_saved: bool = super().save_model()
        self.last = self.last.replace(last)
        return is_saved

    def plot_metrics(self) -> None:
        """Plot nothing, because half of the plot would show metrics that are not measured."""

    def _setup_train(self) -> None:
        super()._setup_train()
        torch.set_num_threads(self.threads)


def rate_at(highest: float, step: int, done: float) -> float:
    """Return the learning rate after ``step`` steps. A fraction ``done`` of training is over."""
    share = LAST_RATE_SHARE + (1 - LAST_RATE_SHARE) * (1 + math.cos(math.pi * done)) / 2
    return highest * share * min(1.0, (step + 1) / WARM_UP_STEPS)


def load_start(model: PlateModel, path: Path, photos: Path) -> None:
    """Load all weights of an exported file, or those weights of an npz file or checkpoint that fit.

    ``photos`` is the folder of the training photos.
    """
    if path.suffix == ".onnx":
        load_exported(model, path, _some(photos))
        return
    state, start = model.state_dict(), _tensors(path)
    fitting = {k: v for k, v in start.items() if k in state and state[k].shape == v.shape}
    model.load_state_dict(fitting, strict=False)
    print(f"start: {len(fitting)} of {len(start)} tensors")


def _some(folder: Path) -> torch.Tensor:
    """Return some photos of a folder as N×3×H×W values (RGB, 0–1)."""
    paths = sorted(folder.glob("*.jpg"))
    chosen = paths[:: max(1, len(paths) // SOME_PHOTOS)]
    sized = [cv2.resize(read_image(path), (SIZE_PX, SIZE_PX)) for path in chosen]
    return torch.from_numpy(np.stack(sized)).permute(0, 3, 1, 2).float() / 255


def _tensors(path: Path) -> dict[str, torch.Tensor]:
    if path.suffix == ".npz":
        return {k: torch.from_numpy(v.astype(np.float32)) for k, v in np.load(path).items()}
    state: dict[str, torch.Tensor] = YOLO(str(path)).model.float().state_dict()
    return state


def epochs_of(checkpoint: Path) -> int:
    """Return the number of epochs that a checkpoint completed, or 0 if there is no checkpoint."""
    if not checkpoint.exists():
        return 0
    # ultralytics pickles whole networks. Unpickling is safe, because we created the file.
    return int(torch.load(checkpoint, weights_only=False)["epoch"]) + 1


def train(args: argparse.Namespace) -> None:
    """Prepare the data set once, then train or resume. Do nothing if training is finished."""
    args.work = args.work.resolve()  # ultralytics resolves relative paths against its own folder
    finished = args.work / NAME / "finished"
    last = args.work / NAME / "weights" / "last.pt"
    if finished.exists() or epochs_of(last) >= args.epochs:
        print(f"{finished.parent}: already finished")
        return
    data = args.work / "data"
    if (data / "data.yaml").exists():
        print(f"{data}: already exists; --others is ignored")
    else:
        labels, drawn = load_labels(args.labels), Drawn(args.floating, args.screens)
        for split in ("train", "val"):
            photos = load_photos(args.photos, split)
            write_dataset(photos, labels, data, split, args.seed, drawn)
        if args.others:
            write_others(args.others, data)
        write_description(data)
    overrides = _settings(args, data / "data.yaml")
    if last.exists():
        print(f"{last}: resuming; --start is ignored")
        overrides |= {"model": str(last), "resume": str(last)}
    PlateTrainer.start, PlateTrainer.threads = args.start, args.threads
    PlateTrainer.minutes, PlateTrainer.rate = args.minutes, args.rate
    PlateTrainer(overrides=overrides).train()
    finished.touch()


def export(args: argparse.Namespace) -> None:
    """Write ONNX files without NMS, for any batch size and image sizes that are multiples of 32."""
    model = YOLO(str(args.weights))
    model.model.__class__ = DetectionModel  # the exported graph must use float32
    written = Path(model.export(format="onnx", opset=OPSET, dynamic=True, simplify=True))
    halve(written, args.float_out)
    quantise(written, args.out, load_photos(args.photos, "train"), args.seed)


def _settings(args: argparse.Namespace, data: Path) -> dict[str, Any]:
    return {
        "model": ARCHITECTURE,
        "data": str(data),
        "project": str(args.work),
        "name": NAME,
        "exist_ok": True,
        "epochs": args.epochs,
        "imgsz": SIZE_PX,
        "batch": BATCH,
        "nbs": BATCH,  # one optimiser step per batch, because time is short
        "seed": args.seed,
        "freeze": FROZEN_LAYERS,
        "optimizer": "AdamW",
        "lr0": args.rate,
        "momentum": 0.9,
        "weight_decay": 0.0005,
        "warmup_epochs": 0,
        "mosaic": 0.35,
        "close_mosaic": 1,
        "scale": SCALE,
        "degrees": TURN_DEGREES,
        "shear": TURN_DEGREES / 2,
        "perspective": 0.0,
        "augmentations": list(PHOTO_CHANGES),
        "device": "cpu",
        "cache": "ram",
        "amp": False,
        "plots": True,
        "val": False,  # the last epoch is the best, because the rate decays
    }


def main() -> None:
    """Run the command ``train`` or ``export``."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    trainer = commands.add_parser("train")
    trainer.set_defaults(run=train)
    trainer.add_argument("--photos", type=Path, required=True)
    trainer.add_argument("--labels", type=Path, required=True)
    trainer.add_argument(
        "--start", type=Path, required=True, help="npz, checkpoint or 16-bit ONNX file"
    )
    trainer.add_argument("--work", type=Path, required=True, help="data, logs and checkpoints")
    trainer.add_argument("--others", type=Path, help="output of `other_pictures`")
    trainer.add_argument("--floating", type=int, default=Drawn.floating, help="images of plates")
    trainer.add_argument("--screens", type=int, default=Drawn.screens, help="images of screens")
    trainer.add_argument("--epochs", type=int, default=18)
    trainer.add_argument("--minutes", type=float, default=math.inf, help="maximum duration")
    trainer.add_argument("--rate", type=float, default=RATE, help="initial learning rate")
    trainer.add_argument("--threads", type=int, default=2)
    trainer.add_argument("--seed", type=int, default=7)
    exporter = commands.add_parser("export")
    exporter.set_defaults(run=export)
    exporter.add_argument("--weights", type=Path, required=True)
    exporter.add_argument("--photos", type=Path, required=True, help="for the 8-bit calibration")
    exporter.add_argument("--out", type=Path, required=True, help="8-bit convolutions, for CPUs")
    exporter.add_argument("--float-out", type=Path, required=True, help="16-bit weights, for GPUs")
    exporter.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
