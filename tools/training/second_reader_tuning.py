"""Trains all of the second reader on plates, once its head has learnt (``second_reader``).

``python -m tools.training.second_reader_tuning --photos DIR --start FILE.onnx --card
FILE.json --work DIR --out FILE.onnx`` starts, or goes on after an interruption. What is written is
the mean of the weights over the last 500 steps or so. ``work`` shows how it goes (``loss.png``),
and in the end which plates of the validation photos are read wrong (``errors.jpg``).
"""

import argparse
import copy
import math
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
import numpy.typing as npt
import torch

from recognition.reading.crops import joined_rows
from recognition.reading.row_classifier import RowClassifier
from recognition.types import Detection
from tools.evaluation.photos import Image, as_image
from tools.training.cards import read_card
from tools.training.curves import draw_curves
from tools.training.line_net import load_line_network, write_line_network
from tools.training.more_crops import more_samples
from tools.training.reader_data import (
    Sample,
    line_crop,
    load_samples,
    plain_crops,
    sampling_weights,
)
from tools.training.reader_net import with_alike
from tools.training.rendered import render_samples
from tools.training.second_reader import (
    CHARACTERS,
    FLATTEST,
    HEIGHT_PX,
    line_width,
    text_loss,
)
from tools.training.wrong_sheet import ReadCrop, exact_share, write_wrong

OTHER_WIDTH = 0.1
"""Crops are brought to widths up to so much from what their shape asks for."""

WIDTHS_A_DRAW = 4
"""So many batches are drawn together, and parted by width: a batch has one width."""

ZERO_CLASS, LETTER_CLASS = (1 + CHARACTERS.index(character) for character in "0O")
"""The first class stands for no character."""

EMA_DECAY, WARM_UP_STEPS, KEPT_EVERY, LOSS_EVERY = 0.998, 50, 200, 50

Batch = tuple[npt.NDArray[np.uint8], list[str], npt.NDArray[np.bool_]]
"""N×48×W×3 bytes, blue first, the texts on them, and of which a 0 stands for O too."""


class Line(NamedTuple):
    """A plate that is read as a line, its two rows joined where it has two."""

    sample: Sample
    has_two: bool

    @property
    def width(self) -> int:
        """Pixels that it is wide at the height of the network's input."""
        left, top, right, bottom = self.sample.box
        width, height = right - left, bottom - top
        return line_width(2 * width, height / 2) if self.has_two else line_width(width, height)


class Batches(torch.utils.data.Dataset):
    """A batch a step; that of a step is always the same."""

    def __init__(
        self, photographed: list[Line], rendered: list[Line], args: argparse.Namespace
    ) -> None:
        """Mix the plates by the share of rendered ones."""
        self._photographed, self._rendered = photographed, rendered
        self._weights = sampling_weights([line.sample for line in photographed])
        self._size, self._share = args.batch, args.rendered_share
        self._seed, self._steps = args.seed, args.steps

    def __len__(self) -> int:
        """Batches in all."""
        return int(self._steps)

    def __getitem__(self, step: int) -> Batch:
        """The batch of a step."""
        rng = np.random.default_rng((self._seed, step))
        drawn = [self._draw(rng) for _ in range(self._size * WIDTHS_A_DRAW)]
        widths = np.array([line.width for line in drawn]) * rng.uniform(
            1 - OTHER_WIDTH, 1 + OTHER_WIDTH, len(drawn)
        )
        first = int(rng.integers(WIDTHS_A_DRAW)) * self._size
        chosen = np.argsort(widths)[first : first + self._size]
        width = line_width(float(np.median(widths[chosen])), HEIGHT_PX)
        crops = [_changed(drawn[i], width, rng) for i in chosen]
        shown = [drawn[i].sample for i in chosen]
        pixels = np.stack([crop[..., ::-1] for crop in crops])
        return pixels, [s.text for s in shown], np.array([s.alike for s in shown])

    def _draw(self, rng: np.random.Generator) -> Line:
        if rng.random() < self._share:
            return self._rendered[int(rng.integers(len(self._rendered)))]
        return self._photographed[int(rng.choice(len(self._weights), p=self._weights))]


def lines(samples: list[Sample]) -> list[Line]:
    """Those that are a line of text, or two."""
    rows, found = RowClassifier.load(), list[Line]()
    for sample in samples:
        left, top, right, bottom = sample.box
        has_two = rows.has_two_rows(sample.image[..., ::-1], Detection(*sample.box, 1.0, "plate"))
        if has_two or right - left >= FLATTEST * (bottom - top):
            found.append(Line(sample, has_two))
    return found


@torch.no_grad()
def texts_read(network: torch.nn.Module, crops: list[Image]) -> list[str]:
    """What the network alone reads on RGB crops of plates, in order."""
    by_width = defaultdict(list)
    for i, crop in enumerate(crops):
        by_width[line_width(crop.shape[1], crop.shape[0])].append(i)
    texts = [""] * len(crops)
    for width, places in by_width.items():
        sized = [as_image(cv2.resize(crops[i], (width, HEIGHT_PX))) for i in places]
        batch = torch.from_numpy(np.stack(sized)[..., ::-1].copy())
        classes = network(batch).argmax(-1).tolist()
        for i, row in zip(places, classes, strict=True):
            texts[i] = _text(row)
    return texts


class Training:
    """The state of one run, kept in ``work`` every ``KEPT_EVERY`` steps."""

    def __init__(self, args: argparse.Namespace) -> None:
        """Load data and the network, and the last checkpoint where there is one."""
        self.args = args
        self.network, self.weights = load_line_network(args.start)
        self.average = {k: v.detach().clone() for k, v in self.weights.items()}
        self.optimizer = torch.optim.AdamW(self.weights.values(), lr=args.rate, weight_decay=1e-3)
        self.step = 0
        self.losses: dict[float, float] = {}
        samples = load_samples(args.photos, "train", args.slots, lone=True)
        more = more_samples(args.more, args.slots, held_out=False)
        learnt = lines([sample for sample in samples if not sample.held_out] + more)
        rendered = render_samples(1.0, args.rendered, args.slots, args.seed)
        # What tells rows learnt from photos, and takes some drawn plates of one row for two.
        drawn = [line for line in lines(list(rendered.samples)) if not line.has_two]
        self.data = Batches(learnt, drawn, args)
        self.val = lines(load_samples(args.photos, "val", args.slots, lone=False))
        crop = read_card(args.card)["crop"]
        margins = crop["margin_x"], crop["margin_y"]
        self.val_crops = [_plain(line, margins) for line in self.val]
        two = sum(line.has_two for line in learnt)
        print(f"learnt {len(learnt)}, {two} of two rows; val {len(self.val)}", flush=True)
        self._restore()

    def run(self) -> None:
        """Train the steps that are left."""
        left = torch.utils.data.Subset(self.data, range(self.step, self.args.steps))
        loader = torch.utils.data.DataLoader(left, batch_size=None, num_workers=1)
        recent = []
        for batch in loader:
            recent.append(self._one_step(*batch))
            if self.step % LOSS_EVERY == 0:
                self.losses[self.step] = float(np.mean(recent))
                print(f"step {self.step}: loss {self.losses[self.step]:.3f}", flush=True)
                draw_curves({"loss": self.losses}, "step", self.args.work / "loss.png")
                recent = []
            if self.step % KEPT_EVERY == 0:
                self._keep()
        self._keep()

    def read_val(self) -> list[ReadCrop]:
        """What the network with the mean weights reads of ``val``, alone."""
        network, weights = copy.deepcopy((self.network, self.weights))
        with torch.no_grad():
            for name, value in self.average.items():
                weights[name].copy_(value)
        texts = [line.sample.text for line in self.val]
        return [*map(ReadCrop, self.val_crops, texts, texts_read(network, self.val_crops))]

    @property
    def _checkpoint(self) -> Path:
        work: Path = self.args.work
        return work / "second_reader.pt"

    def _one_step(self, crops: torch.Tensor, texts: list[str], alike: torch.Tensor) -> float:
        falling = 0.02 + 0.49 * (1 + math.cos(math.pi * self.step / self.args.steps))
        for group in self.optimizer.param_groups:
            group["lr"] = self.args.rate * min(1.0, (self.step + 1) / WARM_UP_STEPS) * falling
        with torch.autocast("cpu", torch.bfloat16):
            logs = self.network(crops)
        places = torch.full((len(texts),), logs.shape[1])
        said = with_alike(logs.float().log_softmax(-1), alike, ZERO_CLASS, LETTER_CLASS)
        loss = text_loss(said, places, texts)
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.weights.values(), 2.0)
        self.optimizer.step()
        self.step += 1
        decay = min(EMA_DECAY, self.step / (self.step + 10))
        for name, value in self.weights.items():
            self.average[name].lerp_(value.detach(), 1 - decay)
        return float(loss.detach())

    def _keep(self) -> None:
        state = {
            "weights": {k: v.detach() for k, v in self.weights.items()},
            "average": self.average,
            "optimizer": self.optimizer.state_dict(),
            "step": self.step,
            "losses": self.losses,
        }
        torch.save(state, self._checkpoint.with_suffix(".new"))
        self._checkpoint.with_suffix(".new").replace(self._checkpoint)

    @torch.no_grad()
    def _restore(self) -> None:
        if not self._checkpoint.exists():
            return
        state: dict[str, Any] = torch.load(self._checkpoint, weights_only=True)
        for name, value in state["weights"].items():
            self.weights[name].copy_(value)
        self.average, self.step = state["average"], state["step"]
        self.losses = state["losses"]
        self.optimizer.load_state_dict(state["optimizer"])


def _text(classes: list[int]) -> str:
    fresh = [c for c, before in zip(classes, [0, *classes[:-1]], strict=True) if c != before]
    return "".join(CHARACTERS[c - 1] for c in fresh if c)


def _changed(line: Line, width: int, rng: np.random.Generator) -> Image:
    if not line.has_two:
        return line_crop(line.sample, (width, HEIGHT_PX), rng)
    both = line_crop(line.sample, (width // 2, 2 * HEIGHT_PX), rng)
    return as_image(cv2.resize(joined_rows(both), (width, HEIGHT_PX)))


def _plain(line: Line, margins: tuple[float, float]) -> Image:
    (crop,) = plain_crops(line.sample, [margins], 0.0, np.random.default_rng(0))
    return joined_rows(crop) if line.has_two else crop


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=Path, required=True)
    parser.add_argument("--more", type=Path, help="second folder, of crops: `more_crops`")
    parser.add_argument("--start", type=Path, required=True, help="what `second_reader` wrote")
    parser.add_argument("--card", type=Path, required=True, help="the second reader's model card")
    parser.add_argument("--work", type=Path, required=True, help="checkpoint")
    parser.add_argument("--out", type=Path, required=True, help="ONNX file to write")
    parser.add_argument("--slots", type=int, default=10, help="characters of the first reader")
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rate", type=float, default=2e-4)
    parser.add_argument("--rendered-share", type=float, default=0.35)
    parser.add_argument("--rendered", type=int, default=4000, help="different rendered plates")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=5)
    args = parser.parse_args()
    cv2.setNumThreads(1)
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    args.work.mkdir(parents=True, exist_ok=True)
    training = Training(args)
    training.run()
    write_line_network(args.start, training.average, args.out)
    readings = training.read_val()
    write_wrong(readings, args.work / "errors.jpg")
    print(f"val exact, alone: {exact_share(readings):.4f}")


if __name__ == "__main__":
    main()
