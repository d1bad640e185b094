"""Stores an ONNX file's weights as 16-bit numbers, to halve the file.

Checkpoints are 16-bit already, so nothing is lost. Each weight is followed by a cast, which the
runtimes carry out once at load: they compute in 32 bits as before.
"""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HALF = ".half"
"""The end of the name of a weight that is stored so."""

SMALLEST = 256
"""Numbers in a tensor from which it is worth a cast."""


def halve(source: Path, out: Path) -> None:
    """Write ``source`` to ``out`` with its large 32-bit weights stored in 16 bits."""
    model = onnx.load(source)
    casts = []
    for initialiser in model.graph.initializer:
        array = numpy_helper.to_array(initialiser)
        if array.dtype != np.float32 or array.size < SMALLEST:
            continue
        name = initialiser.name
        half = numpy_helper.from_array(array.astype(np.float16), name + HALF)
        initialiser.CopyFrom(half)
        casts.append(helper.make_node("Cast", [half.name], [name], to=TensorProto.FLOAT))
    for cast in reversed(casts):
        model.graph.node.insert(0, cast)
    save_plain(model, out)


def save_plain(model: onnx.ModelProto, out: Path) -> None:
    """Check and write ``model`` without what its maker says of it: the card says it all."""
    model.producer_name, model.producer_version, model.doc_string = "platestream", "", ""
    del model.metadata_props[:]  # they name the machine's folders
    del model.graph.value_info[:]  # runtimes work sizes out; their number differs by run
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, out)
