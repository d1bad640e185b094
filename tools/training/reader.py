"""Trains the plate reader further, gently, from published weights.

``python -m tools.training.reader --photos DIR --start FILE.onnx --work DIR --out FILE.onnx``
starts, or goes on after an interruption. Each epoch is compared with the published weights; what
is written at the end lies on the line between both, where the validation plates are read best.
``work`` shows how it goes: ``loss.png``, and ``errors.jpg``, validation plates that are read wrong.
"""

import argparse
import copy
import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import cv2
import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from tools.evaluation.photos import Card, Image, as_image
from tools.training.cards import read_card
from tools.training.curves import draw_curves
from tools.training.more_crops import ZERO, more_samples
from tools.training.reader_data import (
    Sample,
    changed_crop,
    encode,
    load_samples,
    plain_crops,
    sampling_weights,
)
from tools.training.reader_net import blend, load_network, with_alike, write_onnx
from tools.training.rendered import Rendered, render_samples
from tools.training.wrong_sheet import ReadCrop, exact_share, write_wrong

LABEL_SMOOTHING = 0.04
REGION_WEIGHT = 0.3
TAUGHT_PART = 4
"""Of each batch, the published network is asked for the regions of one crop in so many."""

EMA_DECAY = 0.998
LOSS_EVERY = 10
"""Steps whose mean loss is noted."""

WARM_UP_STEPS = 60
SHARES = (0.25, 0.5, 0.75, 1.0)
"""Shares of the trained weights that are tried at the end; the rest is the published ones."""

VAL_JITTER = (0.0, 0.03, 0.03)
"""Deviations of the box moves in the validation rounds: a plate is read once in each."""

WORTH_IT = 0.004
"""A larger share must read this much more than a smaller one, on average, to be taken."""


@dataclass(frozen=True)
class ReaderFormat:
    """What the card says of the reader's input and output."""

    size: tuple[int, int]
    margins: tuple[float, float]
    alphabet: str
    pad: str
    slots: int

    @classmethod
    def of(cls, card: Card) -> "ReaderFormat":
        """Taken from a reader's model card."""
        out, crop = card["output"], card["crop"]
        size = (card["input"]["width"], card["input"]["height"])
        margins = (crop["margin_x"], crop["margin_y"])
        return cls(size, margins, out["alphabet"], out["pad_char"], out["slots"])


Batch = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
"""N×H×W×3 bytes, the N×slots classes, and of which crops a 0 stands for O too."""


class Crops(torch.utils.data.Dataset):
    """``length`` changed crops an epoch, drawn by weight; item i of an epoch is always the same."""

    def __init__(
        self, samples: list[Sample], rendered: Rendered, shape: ReaderFormat, length: int, seed: int
    ) -> None:
        """Photographed ``samples``, mixed with ``rendered`` ones by their share."""
        self._samples, self._rendered, self._shape = samples, rendered, shape
        self._weights = sampling_weights(samples)
        self._length, self._seed, self.epoch = length, seed, 0

    def __len__(self) -> int:
        """Crops an epoch."""
        return self._length

    def __getitem__(self, index: int) -> tuple[Image, npt.NDArray[np.int64], bool]:
        """H×W×3 uint8 RGB, the class of each slot, and whether its 0 stands for O too."""
        rng = np.random.default_rng((self._seed, self.epoch, index))
        if rng.random() < self._rendered.share:
            sample = self._rendered.draw(rng)
        else:
            sample = self._samples[int(rng.choice(len(self._samples), p=self._weights))]
        image = changed_crop(sample, self._shape.size, rng)
        shape = self._shape
        classes = encode(sample.text, shape.alphabet, shape.pad, shape.slots)
        return image, classes, sample.alike


def texts_of(slots: torch.Tensor, shape: ReaderFormat) -> list[str]:
    """Text of each N×slots×characters row of probabilities."""
    best = slots.argmax(-1).tolist()
    return ["".join(shape.alphabet[i] for i in row).replace(shape.pad, "") for row in best]


def validation_crops(
    samples: list[Sample], shape: ReaderFormat
) -> tuple[list[Image], list[Sample]]:
    """The same crops every time, and what they show: each plate once for each of ``VAL_JITTER``."""
    rng = np.random.default_rng(0)
    views = [shape.margins]
    crops = [plain_crops(s, views, j, rng)[0] for j in VAL_JITTER for s in samples]
    return [_resized(c, shape.size) for c in crops], samples * len(VAL_JITTER)


@torch.no_grad()
def read_all(
    network: torch.nn.Module, crops: list[Image], shape: ReaderFormat, device: str | None = None
) -> list[str]:
    """The texts that the network, which is on ``device``, reads on crops of its size, in order."""
    batches = (np.stack(crops[start : start + 64]) for start in range(0, len(crops), 64))
    read = (texts_of(network(torch.from_numpy(one).to(device))[0], shape) for one in batches)
    return [text for texts in read for text in texts]


def loss_of(
    network: torch.nn.Module, teacher: torch.nn.Module, batch: Batch, alphabet: str
) -> torch.Tensor:
    """Cross entropy of the slots, and of the region against what the published network says."""
    images, classes, alike = batch
    with torch.autocast(images.device.type, torch.bfloat16):
        plate, region = (output.float() for output in network(images))
    logs = with_alike(
        plate.clamp_min(1e-7).log(), alike, alphabet.index("0"), alphabet.index("O")
    ).flatten(0, 1)
    smooth = LABEL_SMOOTHING
    chars = functional.nll_loss(logs, classes.flatten()) * (1 - smooth) - smooth * logs.mean()
    some = slice(0, max(1, len(images) // TAUGHT_PART))
    with torch.no_grad(), torch.autocast(images.device.type, torch.bfloat16):
        wanted = teacher(images[some])[1].float()
    kept = -(wanted * region[some].clamp_min(1e-7).log()).sum(-1).mean()
    return chars + REGION_WEIGHT * kept


class Training:
    """The state of one run, kept in ``work`` after every epoch."""

    def __init__(self, args: argparse.Namespace, shape: ReaderFormat) -> None:
        """Load data and the published network, and the last checkpoint where there is one."""
        self.args, self.shape = args, shape
        self.teacher, _ = load_network(args.start)
        self.network, self.weights = load_network(args.start)
        self.published = _snapshot(self.weights)
        self._set(load_network(args.begin)[1] if args.begin else self.published)
        self.average = _snapshot(self.weights)
        self.optimizer = torch.optim.AdamW(self.weights.values(), lr=args.rate, weight_decay=0.0)
        self.epoch, self.step = 0, 0
        self.history: list[Card] = []
        self.losses: dict[float, float] = {}
        self._recent: list[float] = []
        samples = load_samples(args.photos, "train", shape.slots, lone=True)
        learnt = [s for s in samples if not s.held_out]
        learnt += more_samples(args.more, shape.slots, held_out=False)
        rendered = render_samples(args.rendered_share, args.rendered, shape.slots, args.seed)
        self.data = Crops(learnt, rendered, shape, args.crops_an_epoch, args.seed)
        val = load_samples(args.photos, "val", shape.slots, lone=False)
        more = more_samples(args.more, shape.slots, held_out=True)
        sets = {"val": val} | ({"more": more} if more else {})
        self.checks = {what: validation_crops(one, shape) for what, one in sets.items()}
        print(f"learnt {len(learnt)}, val {len(val)}, more held out {len(more)}", flush=True)
        self._began, self._minutes_before = time.monotonic(), 0.0
        self._restore()

    @property
    def _minutes(self) -> float:
        return self._minutes_before + (time.monotonic() - self._began) / 60

    @property
    def _checkpoint(self) -> Path:
        work: Path = self.args.work
        return work / "reader.pt"

    def run(self) -> None:
        """Train the epochs that are left."""
        if self.epoch == 0:
            self._note("published", self.published)
        while self.epoch < self.args.epochs and self._minutes < self.args.minutes:
            self._one_epoch()
            self.epoch += 1
            self._note(f"epoch {self.epoch}", self.average)
            self._keep()

    def choose(self) -> dict[str, torch.Tensor]:
        """The smallest share of the trained weights that nothing larger beats clearly."""
        best, best_exact = self.published, self._measure(self.published)
        chosen = 0.0
        for share in SHARES:
            weights = blend(self.published, self.average, share)
            exact = self._measure(weights)
            print(f"share {share}: exact {exact}", flush=True)
            if fmean(exact.values()) > fmean(best_exact.values()) + WORTH_IT:
                best, best_exact, chosen = weights, exact, share
        self.history.append({"chosen_share": chosen, "exact": best_exact})
        noted = {"measured": self.history, "losses": self.losses}
        (self.args.work / "reader_history.json").write_text(json.dumps(noted, indent=1))
        return best

    def _one_epoch(self) -> None:
        self.data.epoch = self.epoch
        loader = torch.utils.data.DataLoader(self.data, self.args.batch, num_workers=1)
        total = math.ceil(len(self.data) / self.args.batch) * self.args.epochs
        for batch in loader:
            self._set_rate(total)
            self.optimizer.zero_grad()
            loss = loss_of(self.network, self.teacher, batch, self.shape.alphabet)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.weights.values(), 1.0)
            self.optimizer.step()
            self.step += 1
            self._note_loss(float(loss.detach()))
            decay = min(EMA_DECAY, self.step / (self.step + 10))
            for name, value in self.weights.items():
                self.average[name].lerp_(value.detach(), 1 - decay)

    def _set_rate(self, total: int) -> None:
        done = min(1.0, max(self.step / total, self._minutes / self.args.minutes))
        warm = min(1.0, self.step / WARM_UP_STEPS)
        rate = self.args.rate * warm * (0.02 + 0.49 * (1 + math.cos(math.pi * done)))
        for group in self.optimizer.param_groups:
            group["lr"] = rate

    def _note_loss(self, loss: float) -> None:
        self._recent.append(loss)
        if self.step % LOSS_EVERY == 0:
            self.losses[self.step] = float(np.mean(self._recent))
            self._recent = []

    def _read_checks(self, weights: dict[str, torch.Tensor]) -> dict[str, list[ReadCrop]]:
        network, parameters = copy.deepcopy((self.network, self.weights))
        with torch.no_grad():
            for name, value in weights.items():
                parameters[name].copy_(value)
        return {
            what: [*map(_read_crop, crops, samples, read_all(network, crops, self.shape))]
            for what, (crops, samples) in self.checks.items()
        }

    def _measure(self, weights: dict[str, torch.Tensor]) -> dict[str, float]:
        return {what: exact_share(one) for what, one in self._read_checks(weights).items()}

    def _note(self, what: str, weights: dict[str, torch.Tensor]) -> None:
        readings = self._read_checks(weights)
        exact = {f"{name} exact": exact_share(one) for name, one in readings.items()}
        self.history.append({"what": what, "step": self.step} | exact)
        curves = {name: {note["step"]: note[name] for note in self.history} for name in exact}
        draw_curves({"loss": self.losses} | curves, "step", self.args.work / "loss.png")
        for name, one in readings.items():
            write_wrong(one, self.args.work / f"errors{'' if name == 'val' else '-' + name}.jpg")
        print(f"{what}: {exact}", flush=True)

    @torch.no_grad()
    def _set(self, values: Mapping[str, torch.Tensor]) -> None:
        for name, value in values.items():
            self.weights[name].copy_(value)

    def _keep(self) -> None:
        state = {
            "weights": _snapshot(self.weights),
            "average": self.average,
            "optimizer": self.optimizer.state_dict(),
            "epoch": self.epoch,
            "step": self.step,
            "history": self.history,
            "losses": self.losses,
            "minutes": self._minutes,
        }
        torch.save(state, self._checkpoint.with_suffix(".new"))
        self._checkpoint.with_suffix(".new").replace(self._checkpoint)

    def _restore(self) -> None:
        if not self._checkpoint.exists():
            return
        state = torch.load(self._checkpoint, weights_only=True)
        self._set(state["weights"])
        self.average, self.history = state["average"], state["history"]
        self.losses = state["losses"]
        self.optimizer.load_state_dict(state["optimizer"])
        self.epoch, self.step = state["epoch"], state["step"]
        self._minutes_before = state["minutes"]


def _snapshot(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {k: v.detach().clone() for k, v in weights.items()}


def _read_crop(crop: Image, sample: Sample, text: str) -> ReadCrop:
    return ReadCrop(crop, sample.text, text.translate(ZERO) if sample.alike else text)


def _resized(crop: Image, size: tuple[int, int]) -> Image:
    return as_image(cv2.resize(crop, size, interpolation=cv2.INTER_LINEAR))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=Path, required=True)
    parser.add_argument("--more", type=Path, help="second folder, of crops: `more_crops`")
    parser.add_argument("--start", type=Path, required=True, help="published reader, ONNX")
    parser.add_argument("--begin", type=Path, help="ONNX file of the same graph to go on from")
    parser.add_argument("--card", type=Path, required=True, help="the reader's model card")
    parser.add_argument("--work", type=Path, required=True, help="checkpoint and history")
    parser.add_argument("--out", type=Path, required=True, help="ONNX file to write")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=math.inf, help="end sooner than so")
    parser.add_argument("--crops-an-epoch", type=int, default=7680)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rate", type=float, default=3e-4)
    parser.add_argument("--rendered-share", type=float, default=0.4)
    parser.add_argument("--rendered", type=int, default=6000, help="different rendered plates")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    args.work.mkdir(parents=True, exist_ok=True)
    training = Training(args, ReaderFormat.of(read_card(args.card)))
    training.run()
    write_onnx(args.start, training.choose(), args.out)


if __name__ == "__main__":
    main()
