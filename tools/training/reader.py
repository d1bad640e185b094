"""Trains the plate reader in a few minutes on a GPU, which also augments the crops.

``python -m tools.training.reader --photos DIR --more DIR --start FILE.onnx --card
FILE.json --out FILE.onnx`` trains on photographed plates, on the same plates with swapped
characters (``swapped_characters``) and on rendered plates. The command writes the mean weights of
the last steps. During training, it prints the results on held-out plates.
"""

import argparse
import math
import multiprocessing
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from recognition.reading.ctc_reader import CtcReader
from recognition.settings import RecognizerSettings
from tools.training.cards import Card, read_card
from tools.training.device_crops import Canvases, canvas
from tools.training.layouts import BRAZIL
from tools.training.photos import Image, as_image
from tools.training.reader_data import (
    Sample,
    encode,
    load_samples,
    more_samples,
    plain_crop,
    sampling_weights,
)
from tools.training.reader_net import load_network, with_alike, write_onnx
from tools.training.rendered import render_samples
from tools.training.swapped_characters import find_characters, swapped

WARM_UP_STEPS, LOSS_EVERY, CHECKS = 60, 20, 4
LABEL_SMOOTHING = 0.04
REGION_WEIGHT = 0.3
TAUGHT_PART = 4
"""The starting network labels the regions of one in ``TAUGHT_PART`` crops of each batch."""

VAL_JITTER = (0.0, 0.03, 0.03)
"""Standard deviations of box movements in validation. Each plate is read once with each value."""

ZERO = str.maketrans("O", "0")
DRAWN_AT_ONCE, BRAZIL_ONE_IN = 160, 6
"""One in ``BRAZIL_ONE_IN`` rendered plates is Brazilian, because Brazil's O and 0 differ least."""

Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ReaderFormat:
    """The reader's input and output format, from the model card."""

    size: tuple[int, int]
    margins: tuple[float, float]
    alphabet: str
    pad: str
    slots: int

    @classmethod
    def of(cls, card: Card) -> "ReaderFormat":
        """Return the format in a reader's model card."""
        out, crop = card["output"], card["crop"]
        size = (card["input"]["width"], card["input"]["height"])
        margins = (crop["margin_x"], crop["margin_y"])
        return cls(size, margins, out["alphabet"], out["pad_char"], out["slots"])


Batch = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
"""Crops (N×H×W×3 bytes), classes (N×slots), and whether each label uses 0 for both O and 0 (N)."""


class Shares(NamedTuple):
    """Fractions of rendered crops, and of photographed crops that may have swapped characters."""

    drawn: float
    swapped: float


@dataclass(frozen=True)
class Learnt:
    """The training samples: groups of a plate and its swapped variants, and rendered plates."""

    groups: list[list[Sample]]
    drawn: list[Sample]

    @property
    def samples(self) -> list[Sample]:
        """All samples by group, followed by rendered samples."""
        return [*chain.from_iterable(self.groups), *self.drawn]

    @cached_property
    def _sizes(self) -> Places:
        return np.array([len(group) for group in self.groups])

    @cached_property
    def _weights(self) -> npt.NDArray[np.float64]:
        return sampling_weights([group[0] for group in self.groups])

    def draw(self, count: int, shares: Shares, rng: np.random.Generator) -> Places:
        """Return the indexes in ``samples`` of a random batch of ``count`` samples."""
        sizes = self._sizes
        group = rng.choice(len(sizes), count, p=self._weights)
        may_be_swapped = rng.random(count) < shares.swapped
        other = np.where(may_be_swapped, rng.random(count) * sizes[group], 0).astype(int)
        photographed = (np.cumsum(sizes) - sizes)[group] + other
        drawn = sizes.sum() + rng.integers(0, max(1, len(self.drawn)), count)
        is_drawn = rng.random(count) < (shares.drawn if self.drawn else 0.0)
        return np.asarray(np.where(is_drawn, drawn, photographed))


def gather(args: argparse.Namespace, slots: int) -> Learnt:
    """Return the training plates, after swapping characters and rendering plates on all CPUs."""
    photos = load_samples(args.photos, "train", slots, lone=True)
    photos = [one for one in photos if not one.held_out]
    photos += more_samples(args.more, slots, held_out=False)
    # Spawn processes, because a fork would hang if the inference runtime has running threads.
    afresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(args.workers, mp_context=afresh) as pool:
        parts = range(args.drawn // DRAWN_AT_ONCE)
        drawn = pool.map(partial(_draw, slots, args.seed), parts)
        chunks = [photos[start : start + 64] for start in range(0, len(photos), 64)]
        groups = pool.map(partial(_swap_all, args.swaps, args.seed), chunks)
        return Learnt(
            [group for part in groups for group in part], [one for part in drawn for one in part]
        )


def _draw(slots: int, seed: int, part: int) -> list[Sample]:
    cv2.setNumThreads(1)
    of_brazil = DRAWN_AT_ONCE // BRAZIL_ONE_IN
    seeds = seed + 2 * part
    all_ = render_samples(DRAWN_AT_ONCE - of_brazil, slots, seeds)
    return [*all_, *render_samples(of_brazil, slots, seeds + 1, BRAZIL)]


def _swap_all(swaps: int, seed: int, samples: list[Sample]) -> list[list[Sample]]:
    """Return each sample with up to ``swaps`` variants whose characters are swapped."""
    cv2.setNumThreads(1)
    reader = CtcReader.load(RecognizerSettings.model_validate({}))
    return [[sample, *_swap(sample, reader, swaps, seed)] for sample in samples]


def _swap(sample: Sample, reader: CtcReader | None, swaps: int, seed: int) -> Iterator[Sample]:
    found = find_characters(sample, reader) if reader is not None else None
    if found is None:
        return
    # Each photo of a plate is swapped differently.
    rng = np.random.default_rng([seed, zlib.crc32(sample.image.tobytes())])
    for _ in range(swaps):
        if (other := swapped(sample, found, rng)) is not None:
            yield other


def texts_of(slots: torch.Tensor, shape: ReaderFormat) -> list[str]:
    """Return N texts for N×slots×characters probabilities."""
    best = slots.argmax(-1).tolist()
    return ["".join(shape.alphabet[i] for i in row).replace(shape.pad, "") for row in best]


def validation_crops(
    samples: list[Sample], shape: ReaderFormat
) -> tuple[list[Image], list[Sample]]:
    """Return crops with their samples, the same at every call: each plate once per jitter."""
    rng = np.random.default_rng(0)
    crops = [plain_crop(s, shape.margins, j, rng) for j in VAL_JITTER for s in samples]
    return [as_image(cv2.resize(c, shape.size)) for c in crops], samples * len(VAL_JITTER)


@torch.no_grad()
def read_all(
    network: torch.nn.Module, crops: list[Image], shape: ReaderFormat, device: str
) -> list[str]:
    """Return the texts that the network on ``device`` reads in crops, in order."""
    batches = (np.stack(crops[start : start + 64]) for start in range(0, len(crops), 64))
    read = (texts_of(network(torch.from_numpy(one).to(device))[0], shape) for one in batches)
    return [text for texts in read for text in texts]


def loss_of(
    network: torch.nn.Module, teacher: torch.nn.Module, batch: Batch, alphabet: str
) -> torch.Tensor:
    """Return the cross entropy of the slots, and of the regions against the starting network."""
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


class Run:
    """A network on its device, with the training data."""

    def __init__(self, args: argparse.Namespace, shape: ReaderFormat) -> None:
        """Load and render plates, swap characters, and then load the network."""
        self.args, self.shape = args, shape
        self.device = args.device
        self.learnt = gather(args, shape.slots)
        samples = self.learnt.samples
        boxes = torch.tensor([one.box for one in samples])
        images = torch.from_numpy(np.stack([canvas(one) for one in samples]))
        self.canvases = Canvases(
            images.to(self.device),
            (boxes[:, 2] - boxes[:, 0]).to(self.device),
            (boxes[:, 3] - boxes[:, 1]).to(self.device),
        )
        classes = [encode(one.text, shape.alphabet, shape.pad, shape.slots) for one in samples]
        self.classes = torch.from_numpy(np.stack(classes)).to(self.device)
        self.alike = torch.tensor([one.alike for one in samples], device=self.device)
        self.teacher = load_network(args.start)[0].to(self.device)
        self.teacher.requires_grad_(False)
        network, self.weights = load_network(args.start)
        self.network = network.to(self.device)
        self.average = {name: one.detach().clone() for name, one in self.weights.items()}
        photos = load_samples(args.photos, "train", shape.slots, lone=False)
        held_out = [one for one in photos if one.held_out]
        more = more_samples(args.more, shape.slots, held_out=True)
        self.checks = {"photos": held_out, "more": more}
        print(f"{len(samples)} plates, {len(self.learnt.drawn)} rendered", flush=True)

    def train(self) -> None:
        """Train for the given number of minutes, with a decaying learning rate."""
        args, step = self.args, 0
        optimizer = torch.optim.AdamW(self.weights.values(), lr=args.rate, weight_decay=0.0)
        rng = np.random.default_rng(args.seed)
        generator = torch.Generator(device=self.device).manual_seed(args.seed)
        began, losses, checked = time.monotonic(), list[float](), 0
        while (done := (time.monotonic() - began) / (60 * args.minutes)) < 1:
            rate = args.rate * min(1.0, (step + 1) / WARM_UP_STEPS)
            for group in optimizer.param_groups:
                group["lr"] = rate * (0.02 + 0.49 * (1 + math.cos(math.pi * done)))
            loss = self._loss(rng, generator)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.weights.values(), 1.0)
            optimizer.step()
            step += 1
            kept = min(args.decay, step / (step + 10))
            for name, value in self.weights.items():
                self.average[name].lerp_(value.detach(), 1 - kept)
            if step % LOSS_EVERY == 0:
                losses.append(float(loss.detach()))
            if done * CHECKS >= checked:
                checked += 1
                print(f"step {step}: loss {np.mean(losses or [math.nan]):.3f}, {self._read()}")
                losses.clear()
        print(f"{step} steps of {args.batch} crops, {self._read()}", flush=True)

    def write(self, out: Path) -> None:
        """Write the network with the mean weights to ``out``."""
        write_onnx(self.args.start, {name: one.cpu() for name, one in self.average.items()}, out)

    def _loss(self, rng: np.random.Generator, generator: torch.Generator) -> torch.Tensor:
        shares = Shares(self.args.drawn_share, self.args.swapped_share)
        chosen = self.learnt.draw(self.args.batch, shares, rng)
        places = torch.from_numpy(chosen).to(self.device)
        with torch.no_grad():
            crops = self.canvases.changed(places, self.shape.size, generator)
        batch = crops, self.classes[places], self.alike[places]
        return loss_of(self.network, self.teacher, batch, self.shape.alphabet)

    @torch.no_grad()
    def _read(self) -> str:
        now = {name: one.detach().clone() for name, one in self.weights.items()}
        self._set(self.average)
        said = []
        for what, samples in self.checks.items():
            crops, shown = validation_crops(samples, self.shape)
            texts = read_all(self.network, crops, self.shape, self.device) if crops else []
            pairs = zip(shown, texts, strict=True)
            right = sum(s.text == (t.translate(ZERO) if s.alike else t) for s, t in pairs)
            said.append(f"{what} {right} of {len(shown)}")
        self._set(now)
        return ", ".join(said)

    @torch.no_grad()
    def _set(self, values: dict[str, torch.Tensor]) -> None:
        for name, value in values.items():
            self.weights[name].copy_(value)


def main() -> None:
    """Train the reader, and write the ONNX file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=Path, required=True)
    parser.add_argument("--more", type=Path, help="second folder of crops; see `reader_data`")
    parser.add_argument("--start", type=Path, required=True, help="ONNX file to start from")
    parser.add_argument("--card", type=Path, required=True, help="model card of --start")
    parser.add_argument("--out", type=Path, required=True, help="ONNX file to write")
    parser.add_argument("--device", default="cuda", help="torch device")
    parser.add_argument("--minutes", type=float, default=4.4)
    parser.add_argument("--batch", type=int, default=768)
    parser.add_argument("--rate", type=float, default=4e-4)
    parser.add_argument("--decay", type=float, default=0.997, help="decay of the mean weights")
    parser.add_argument("--drawn", type=int, default=10240, help="number of rendered plates")
    parser.add_argument("--drawn-share", type=float, default=0.3)
    parser.add_argument("--swaps", type=int, default=5, help="swapped variants of each plate")
    parser.add_argument("--swapped-share", type=float, default=0.5)
    parser.add_argument("--workers", type=int, default=None, help="processes; default: all CPUs")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    run = Run(args, ReaderFormat.of(read_card(args.card)))
    run.train()
    run.write(args.out)


if __name__ == "__main__":
    main()
