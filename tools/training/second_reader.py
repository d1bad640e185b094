"""Trains the second reader: a published text recogniser with a head of its own for plates.

``python -m tools.training.second_reader --photos DIR --start PP-OCRv6_rec_small.onnx
--work DIR --out FILE.onnx``: the recogniser's body stays as it is, so what it makes of each crop
is computed once (and kept in ``work``); the head in front of its thousands of characters is
replaced by one of 36, which begins from the same characters' rows and learns in seconds
(``work/head_loss.png`` shows how).
"""

import argparse
import pickle
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper, numpy_helper
from torch.nn import functional

from tools.evaluation.photos import Image
from tools.training.curves import draw_curves
from tools.training.line_net import write_halved
from tools.training.reader_data import Sample, line_crop, load_samples
from tools.training.rendered import render_samples

CHARACTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
HEIGHT_PX, WIDTHS_PX, WIDTH_STEP_PX = 48, (64, 384), 16
FLATTEST = 1.45
"""Plates that are less wide than this, against their height, have two rows: not a line of text."""

MIX_PLACES, MIX_START = 5, 0.3
BATCH, RATE, WARM_UP, NOISE = 64, 1.5e-3, 30, 0.02
LOSS_EVERY = 25
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Example:
    """What the body makes of one crop (places x channels, float16), and the text on it."""

    features: npt.NDArray[np.float16]
    text: str


class Body:
    """The published recogniser up to its last layer."""

    def __init__(self, start: Path, work: Path) -> None:
        """Cut the graph before its last product; keep that product's rows for our characters."""
        model = onnx.load(start)
        last = [node for node in model.graph.node if node.op_type == "MatMul"][-1]
        added = next(n for n in model.graph.node if n.input and n.input[0] == last.output[0])
        values = {i.name: numpy_helper.to_array(i) for i in model.graph.initializer}
        metadata = {entry.key: entry.value for entry in model.metadata_props}
        known = ["", *metadata["character"].splitlines(), " "]
        columns = [0, *(known.index(c) for c in CHARACTERS)]
        self.weight: Floats = values[last.input[1]][:, columns]
        self.bias: Floats = values[added.input[1]][columns]
        self.path, self.output = work / "body.onnx", last.input[0]
        onnx.utils.extract_model(start, self.path, [model.graph.input[0].name], [self.output])
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            self.path, options, providers=["CPUExecutionProvider"]
        )
        self._input = model.graph.input[0].name

    def features(self, crop: Image) -> npt.NDArray[np.float16]:
        """Places x channels for an RGB crop of ``HEIGHT_PX``."""
        tensor = crop[..., ::-1].transpose(2, 0, 1)[np.newaxis].astype(np.float32) / 127.5 - 1
        (features,) = self._session.run(None, {self._input: tensor})
        return np.asarray(features[0], np.float16)


class Head(torch.nn.Module):  # type: ignore[misc]
    """Looks at neighbouring places, then names the character of each: 0 none, then 36."""

    def __init__(self, body: Body) -> None:
        """Begin as the published recogniser, with our characters alone."""
        super().__init__()
        channels, classes = body.weight.shape
        self.mix = torch.nn.Conv1d(channels, channels, MIX_PLACES, padding=MIX_PLACES // 2)
        self.share = torch.nn.Parameter(torch.zeros(()))
        self.name = torch.nn.Linear(channels, classes)
        with torch.no_grad():
            self.mix.weight.mul_(MIX_START)
            torch.nn.init.zeros_(self.mix.bias)
            self.name.weight.copy_(torch.from_numpy(body.weight.T.copy()))
            self.name.bias.copy_(torch.from_numpy(body.bias.copy()))

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """N x places x channels to the logarithms of N x places x classes."""
        mixed = functional.silu(self.mix(features.transpose(1, 2)).transpose(1, 2))
        logs: torch.Tensor = self.name(features + self.share.tanh() * mixed).log_softmax(-1)
        return logs


def line_width(width: float, height: float) -> int:
    """Width in pixels to which a plate of this shape is brought."""
    wanted = round(HEIGHT_PX * width / height / WIDTH_STEP_PX) * WIDTH_STEP_PX
    return min(max(wanted, WIDTHS_PX[0]), WIDTHS_PX[1])


def examples(
    samples: list[Sample], body: Body, repeats: int, rng: np.random.Generator
) -> list[Example]:
    """Each sample ``repeats`` times, changed anew each time."""
    made = []
    for _ in range(repeats):
        for sample in samples:
            width, height = sample.box[2] - sample.box[0], sample.box[3] - sample.box[1]
            if width < FLATTEST * height:
                continue
            crop = line_crop(sample, (line_width(width, height), HEIGHT_PX), rng)
            made.append(Example(body.features(crop), sample.text))
            if len(made) % 500 == 0:
                print(f"{len(made)} crops", flush=True)
    return made


def trained(
    body: Body, data: list[Example], steps: int, seed: int
) -> tuple[Head, dict[float, float]]:
    """The head after ``steps`` batches, its weights averaged over the last hundred or so.

    With it comes the mean loss by step.
    """
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    head, average = Head(body), Head(body)
    average.load_state_dict(head.state_dict())
    optimizer = torch.optim.AdamW(head.parameters(), lr=RATE, weight_decay=1e-3)
    losses, recent = dict[float, float](), list[float]()
    for step in range(steps):
        falling = 0.02 + 0.49 * (1 + np.cos(np.pi * step / steps))
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1.0, (step + 1) / WARM_UP) * falling
        loss = _loss(head, [data[i] for i in rng.integers(0, len(data), BATCH)])
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(head.parameters(), 5.0)
        optimizer.step()
        with torch.no_grad():
            for kept, new in zip(average.parameters(), head.parameters(), strict=True):
                kept.lerp_(new, 1 - min(0.99, (step + 1) / (step + 10)))
        recent.append(float(loss.detach()))
        if (step + 1) % LOSS_EVERY == 0:
            losses[step + 1] = float(np.mean(recent))
            print(f"step {step + 1}: loss {losses[step + 1]:.3f}", flush=True)
            recent = []
    return average, losses


def _loss(head: Head, batch: list[Example]) -> torch.Tensor:
    places = torch.tensor([len(one.features) for one in batch])
    features = torch.zeros(len(batch), int(places.max()), batch[0].features.shape[1])
    for row, one in zip(features, batch, strict=True):
        row[: len(one.features)] = torch.from_numpy(one.features.astype(np.float32))
    features = features + torch.randn_like(features) * NOISE * features.std()
    return text_loss(head(features), places, [one.text for one in batch])


def text_loss(logs: torch.Tensor, places: torch.Tensor, texts: list[str]) -> torch.Tensor:
    """The loss (connectionist temporal classification) of N x places x classes logarithms.

    ``places`` says how many of each row's places count, ``texts`` what they should say.
    **Source:** Graves et al., "Connectionist temporal classification", ICML 2006.
    """
    wanted = torch.tensor([CHARACTERS.index(c) + 1 for text in texts for c in text])
    lengths = torch.tensor([len(text) for text in texts])
    loss: torch.Tensor = functional.ctc_loss(
        logs.transpose(0, 1), wanted, places, lengths, zero_infinity=True
    )
    return loss


def write_onnx(body: Body, head: Head, out: Path) -> None:
    """One file: bytes of an NHWC crop (blue first) in, logarithms of places x classes out."""
    model = onnx.load(body.path)
    graph, entry = model.graph, model.graph.input[0].name
    shape = ["N", HEIGHT_PX, "W", 3]
    image = helper.make_tensor_value_info("image", TensorProto.UINT8, shape)
    values = _head_values(head) | {
        "to_unit": np.array([1 / 127.5], np.float32),
        "one": np.array([1], np.float32),
    }
    before = [
        helper.make_node("Cast", ["image"], ["values"], to=TensorProto.FLOAT),
        helper.make_node("Transpose", ["values"], ["planes"], perm=[0, 3, 1, 2]),
        helper.make_node("Mul", ["planes", "to_unit"], ["scaled"]),
        helper.make_node("Sub", ["scaled", "one"], [entry]),
    ]
    nodes = [*before, *graph.node, *_head_nodes(body.output)]
    said = helper.make_tensor_value_info("logs", TensorProto.FLOAT, ["N", "T", len(CHARACTERS) + 1])
    tensors = [*graph.initializer, *(numpy_helper.from_array(v, k) for k, v in values.items())]
    whole = helper.make_graph(nodes, "second reader", [image], [said], tensors)
    write_halved(helper.make_model(whole, opset_imports=model.opset_import, ir_version=8), out)


def _head_values(head: Head) -> dict[str, Floats]:
    weights = {k: v.detach().numpy() for k, v in head.state_dict().items()}
    return {
        "mix_weight": weights["mix.weight"],
        "mix_bias": weights["mix.bias"],
        "mix_share": np.tanh(weights["share"]).reshape(1),
        "name_weight": weights["name.weight"].T.copy(),
        "name_bias": weights["name.bias"],
    }


def _head_nodes(features: str) -> list[onnx.NodeProto]:
    node, side = helper.make_node, MIX_PLACES // 2
    return [
        node("Transpose", [features], ["h0"], perm=[0, 2, 1]),
        node("Conv", ["h0", "mix_weight", "mix_bias"], ["h1"], pads=[side, side]),
        node("Sigmoid", ["h1"], ["h2"]),
        node("Mul", ["h1", "h2"], ["h3"]),
        node("Transpose", ["h3"], ["h4"], perm=[0, 2, 1]),
        node("Mul", ["h4", "mix_share"], ["h5"]),
        node("Add", [features, "h5"], ["h6"]),
        node("MatMul", ["h6", "name_weight"], ["h7"]),
        node("Add", ["h7", "name_bias"], ["h8"]),
        node("LogSoftmax", ["h8"], ["logs"], axis=2),
    ]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=Path, required=True)
    parser.add_argument("--start", type=Path, required=True, help="PP-OCR recogniser, ONNX")
    parser.add_argument("--work", type=Path, required=True, help="what is computed once")
    parser.add_argument("--out", type=Path, required=True, help="ONNX file to write")
    parser.add_argument("--slots", type=int, default=10, help="characters of the first reader")
    parser.add_argument("--rendered", type=int, default=1500, help="different rendered plates")
    parser.add_argument("--repeats", type=int, default=2, help="times each plate is changed")
    parser.add_argument("--steps", type=int, default=250)
    parser.add_argument("--seed", type=int, default=3)
    args = parser.parse_args()
    cv2.setNumThreads(1)
    torch.set_num_threads(1)
    args.work.mkdir(parents=True, exist_ok=True)
    body, kept = Body(args.start, args.work), args.work / "examples.pickle"
    if not kept.exists():
        samples = load_samples(args.photos, "train", args.slots, lone=False)
        learnt = [sample for sample in samples if not sample.held_out]
        rng = np.random.default_rng(args.seed)
        made = examples(learnt, body, args.repeats, rng)
        drawn = render_samples(1.0, args.rendered, args.slots, args.seed).samples
        made += examples(list(drawn), body, 1, rng)
        kept.write_bytes(pickle.dumps(made))
    data: list[Example] = pickle.loads(kept.read_bytes())
    print(f"{len(data)} crops")
    head, losses = trained(body, data, args.steps, args.seed)
    draw_curves({"loss of the head": losses}, "step", args.work / "head_loss.png")
    write_onnx(body, head, args.out)


if __name__ == "__main__":
    main()
