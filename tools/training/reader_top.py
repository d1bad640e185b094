"""Trains the upper part of the plate reader further, held to what it says of plates it knows.

``python -m tools.training.reader_top --photos DIR --more DIR --start FILE.onnx --card FILE.json
--work DIR --out FILE.onnx`` starts, or goes on after an interruption. The convolutions, four fifths
of the arithmetic, stay as they are: what they make of each changed crop is computed once, and what
lies above learns from it in several passes. New crops and drawn plates teach by their labels; of
plates that the reader learned before, mostly what it said itself, so that it grows no surer there.
What is written lies on the line between the reader as it was and the trained one (``--share``).
"""

import argparse
import copy
import math
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import torch

from tools.evaluation.photos import Image
from tools.training.cards import read_card
from tools.training.layouts import BRAZIL
from tools.training.more_crops import more_samples
from tools.training.reader import LABEL_SMOOTHING, REGION_WEIGHT, ReaderFormat, validation_crops
from tools.training.reader_data import (
    Sample,
    changed_crop,
    encode,
    load_samples,
    sampling_weights,
)
from tools.training.reader_net import blend, trainable, with_alike, write_onnx
from tools.training.rendered import render_samples

CUT = "CCT_OCR_1/conv_stem_1/conv2d_4_1/mul_1:0"
"""The tensor of the published graph that parts the convolutions from what learns."""

PHOTOS_SHARE, MORE_SHARE, BRAZIL_SHARE = 0.35, 0.4, 0.1
"""Of the crops, those of plates known before, new ones, and drawn ones of Brazil; the rest are
drawn ones of all countries."""

OWN_SHARE = 0.8
"""Of the target of plates known before, what the reader said itself; the rest is the label."""

BATCH, EMA_DECAY, WARM_UP_STEPS, LOSS_EVERY = 64, 0.995, 30, 25
SHARES = (0.0, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0)
FEATURE_BATCH, CROPS_AT_ONCE = 32, 512

Floats = npt.NDArray[np.float32]


class Kept(NamedTuple):
    """Crops as the upper part gets them, and what is known of them.

    ``features``: N×96×10×26; ``said``, ``region``: what the reader says; ``classes``: N×slots;
    ``alike``: whose 0 stands for O too; ``known``: of plates that it learned before.
    """

    features: npt.NDArray[np.float16]
    said: Floats
    region: Floats
    classes: npt.NDArray[np.int64]
    alike: npt.NDArray[np.bool_]
    known: npt.NDArray[np.bool_]

    def taken(self, places: npt.NDArray[np.int64]) -> "Kept":
        """Those at ``places``."""
        parts = self.features[places], self.said[places], self.region[places]
        return Kept(*parts, self.classes[places], self.alike[places], self.known[places])


class Lower:
    """The reader as it was, with the features between both parts as a further output."""

    def __init__(self, path: Path, threads: int) -> None:
        """Load it into onnxruntime."""
        model = onnx.shape_inference.infer_shapes(onnx.load(path))
        (cut,) = [value for value in model.graph.value_info if value.name == CUT]
        model.graph.output.append(cut)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self._session = onnxruntime.InferenceSession(model.SerializeToString(), options)

    def __call__(self, crops: list[Image]) -> tuple[Floats, Floats, Floats]:
        """Features, slots and regions of crops of the reader's size."""
        outputs = [CUT, "plate", "region"]
        rows = [
            self._session.run(outputs, {"input": np.stack(crops[at : at + FEATURE_BATCH])})
            for at in range(0, len(crops), FEATURE_BATCH)
        ]
        features, said, region = (np.concatenate(one) for one in zip(*rows, strict=True))
        return features, said, region


def upper(path: Path) -> tuple[torch.nn.Module, dict[str, torch.nn.Parameter]]:
    """What lies above the cut, and its weights by the ONNX initialiser's name."""
    model = onnx.shape_inference.infer_shapes(onnx.load(path))
    part = onnx.utils.Extractor(model).extract_model([CUT], ["plate", "region"])
    return trainable(part, lambda name, _: "const_fold" not in name and not name.endswith("/x:0"))


def learnt_crops(
    args: argparse.Namespace, known: list[Sample], shape: ReaderFormat
) -> Iterator[tuple[Image, Sample, bool]]:
    """The changed crops that are learned from, and whether the reader knew the plate before."""
    rng = np.random.default_rng(args.seed)
    new = more_samples(args.more, shape.slots, held_out=False)
    drawn = render_samples(1.0, args.drawn, shape.slots, args.seed)
    brazil = render_samples(1.0, args.drawn, shape.slots, args.seed + 1, BRAZIL)
    known_weights, new_weights = sampling_weights(known), sampling_weights(new)
    limits = np.cumsum([PHOTOS_SHARE, MORE_SHARE, BRAZIL_SHARE])
    for _ in range(args.crops):
        kind = int(np.searchsorted(limits, rng.random()))
        if kind == 0:
            sample = known[int(rng.choice(len(known), p=known_weights))]
        elif kind == 1:
            sample = new[int(rng.choice(len(new), p=new_weights))]
        else:
            sample = (brazil if kind == 2 else drawn).draw(rng)
        yield changed_crop(sample, shape.size, rng), sample, kind == 0


def kept(crops: list[Image], samples: list[Sample], lower: Lower, shape: ReaderFormat) -> Kept:
    """Crops as the upper part gets them; none is marked as known."""
    features, said, region = lower(crops)
    classes = [encode(one.text, shape.alphabet, shape.pad, shape.slots) for one in samples]
    alike = np.array([one.alike for one in samples])
    known = np.zeros(len(samples), np.bool_)
    return Kept(features.astype(np.float16), said, region, np.stack(classes), alike, known)


def gather(
    args: argparse.Namespace, learnt: list[Sample], shape: ReaderFormat, lower: Lower
) -> Kept:
    """All that is learned from; it is kept in ``work``."""
    path: Path = args.work / "crops.npz"
    if not path.exists():
        drawn, rows = learnt_crops(args, learnt, shape), list[Kept]()
        while some := list(islice(drawn, CROPS_AT_ONCE)):
            crops, samples, known = map(list, zip(*some, strict=True))
            rows.append(kept(crops, samples, lower, shape)._replace(known=np.array(known)))
            print(f"{sum(len(row.known) for row in rows)} crops", flush=True)
        whole = Kept(*(np.concatenate(one) for one in zip(*rows, strict=True)))
        np.savez(path.with_suffix(".new.npz"), **whole._asdict())
        path.with_suffix(".new.npz").rename(path)
    with np.load(path) as stored:
        return Kept(**stored)


def loss_of(network: torch.nn.Module, batch: Kept, alphabet: str) -> torch.Tensor:
    """Cross entropy of the slots against the labels or what the reader said, and of the region."""
    said, region = map(torch.from_numpy, (batch.said, batch.region))
    classes, alike, known = map(torch.from_numpy, (batch.classes, batch.alike, batch.known))
    plate, named = network(torch.from_numpy(batch.features.astype(np.float32)))
    logs = plate.clamp_min(1e-7).log()
    by_label = with_alike(logs, alike, alphabet.index("0"), alphabet.index("O"))
    hit = by_label.gather(-1, classes[..., None])[..., 0].mean(-1)
    smooth = LABEL_SMOOTHING
    labelled = -(1 - smooth) * hit - smooth * by_label.mean((-1, -2))
    own = -(said * logs).sum(-1).mean(-1)
    chars = torch.where(known, OWN_SHARE * own + (1 - OWN_SHARE) * labelled, labelled)
    kept_region = -(region * named.clamp_min(1e-7).log()).sum(-1)
    return (chars + REGION_WEIGHT * kept_region).mean()


class Training:
    """The state of one run, kept in ``work`` after every pass."""

    def __init__(self, args: argparse.Namespace, shape: ReaderFormat) -> None:
        """Load the data and the reader, and the last checkpoint where there is one."""
        self.args, self.shape = args, shape
        lower = Lower(args.start, args.threads)
        photos = load_samples(args.photos, "train", shape.slots, lone=True)
        learnt = [one for one in photos if not one.held_out]
        self.data = gather(args, learnt, shape, lower)
        self.network, self.weights = upper(args.start)
        self.before = {k: v.detach().clone() for k, v in self.weights.items()}
        self.average = copy.deepcopy(self.before)
        self.optimizer = torch.optim.AdamW(self.weights.values(), lr=args.rate, weight_decay=0.0)
        self.passes, self.step = 0, 0
        sets = {
            "photos": [one for one in photos if one.held_out and one.group != "lone"],
            "more": more_samples(args.more, shape.slots, held_out=True),
        }
        self.checks = {
            name: kept(*validation_crops(one, shape), lower, shape) for name, one in sets.items()
        }
        if self._checkpoint.exists():
            state = torch.load(self._checkpoint, weights_only=True)
            self._set(state["weights"])
            self.average, self.passes = state["average"], state["passes"]
            self.step = state["step"]
            self.optimizer.load_state_dict(state["optimizer"])

    @property
    def _checkpoint(self) -> Path:
        work: Path = self.args.work
        return work / "reader_top.pt"

    def run(self) -> None:
        """Learn in the passes that are left."""
        count = len(self.data.classes) // BATCH
        while self.passes < self.args.passes:
            order = np.random.default_rng((self.args.seed, self.passes)).permutation(count * BATCH)
            losses = list[float]()
            for places in order.reshape(count, BATCH):
                batch = self.data.taken(np.sort(places))
                losses.append(self._one_step(batch, count * self.args.passes))
                if self.step % LOSS_EVERY == 0:
                    print(f"step {self.step}: {np.mean(losses[-LOSS_EVERY:]):.4f}", flush=True)
            self.passes += 1
            self._keep()
            print(f"pass {self.passes}: {self.measured(1.0)}", flush=True)

    def measured(self, share: float) -> dict[str, str]:
        """What is read of the held-out plates at a share, and how likely the labels are."""
        now = {k: v.detach().clone() for k, v in self.weights.items()}
        self._set(blend(self.before, self.average, share))
        said = {name: self._likelihood(one) for name, one in self.checks.items()}
        self._set(now)
        return said

    @torch.no_grad()
    def _likelihood(self, one: Kept) -> str:
        alphabet, rows = self.shape.alphabet, []
        for at in range(0, len(one.classes), BATCH):
            plate, _ = self.network(
                torch.from_numpy(one.features[at : at + BATCH].astype(np.float32))
            )
            rows.append(plate)
        logs = torch.cat(rows).clamp_min(1e-7).log()
        alike = torch.from_numpy(one.alike)
        logs = with_alike(logs, alike, alphabet.index("0"), alphabet.index("O"))
        logs[..., alphabet.index("O")] = torch.where(
            alike[:, None], -torch.inf, logs[..., alphabet.index("O")]
        )
        classes = torch.from_numpy(one.classes)
        right = (logs.argmax(-1) == classes).all(-1).float().mean()
        likely = logs.gather(-1, classes[..., None]).clamp_min(-7).sum((-1, -2)).mean()
        return f"{float(right):.4f} {float(likely):.4f}"

    def _one_step(self, batch: Kept, total: int) -> float:
        falling = 0.02 + 0.49 * (1 + math.cos(math.pi * self.step / total))
        for group in self.optimizer.param_groups:
            group["lr"] = self.args.rate * min(1.0, (self.step + 1) / WARM_UP_STEPS) * falling
        self.optimizer.zero_grad()
        loss = loss_of(self.network, batch, self.shape.alphabet)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.weights.values(), 1.0)
        self.optimizer.step()
        self.step += 1
        decay = min(EMA_DECAY, self.step / (self.step + 10))
        for name, value in self.weights.items():
            self.average[name].lerp_(value.detach(), 1 - decay)
        return float(loss.detach())

    @torch.no_grad()
    def _set(self, values: dict[str, torch.Tensor]) -> None:
        for name, value in values.items():
            self.weights[name].copy_(value)

    def _keep(self) -> None:
        state = {
            "weights": {k: v.detach() for k, v in self.weights.items()},
            "average": self.average,
            "optimizer": self.optimizer.state_dict(),
            "passes": self.passes,
            "step": self.step,
        }
        torch.save(state, self._checkpoint.with_suffix(".new"))
        self._checkpoint.with_suffix(".new").replace(self._checkpoint)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=Path, required=True)
    parser.add_argument("--more", type=Path, required=True, help="second folder: `more_crops`")
    parser.add_argument("--start", type=Path, required=True, help="the reader as it is, ONNX")
    parser.add_argument("--card", type=Path, required=True, help="its model card")
    parser.add_argument("--work", type=Path, required=True, help="crops and checkpoint")
    parser.add_argument("--out", type=Path, required=True, help="ONNX file to write")
    parser.add_argument("--crops", type=int, default=12288)
    parser.add_argument("--drawn", type=int, default=1200, help="different drawn plates, twice")
    parser.add_argument("--passes", type=int, default=4)
    parser.add_argument("--rate", type=float, default=3e-4)
    parser.add_argument("--share", type=float, default=0.6, help="of the trained weights")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=11)
    args = parser.parse_args()
    cv2.setNumThreads(1)
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    args.work.mkdir(parents=True, exist_ok=True)
    training = Training(args, ReaderFormat.of(read_card(args.card)))
    training.run()
    for share in SHARES:
        print(f"share {share}: {training.measured(share)}", flush=True)
    write_onnx(args.start, blend(training.before, training.average, args.share), args.out)


if __name__ == "__main__":
    main()
