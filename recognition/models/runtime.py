"""ONNX files in onnxruntime or OpenVINO, behind one call.

Vendor types stop here.
"""

import math
import os
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from common.errors import MisconfiguredError
from recognition.settings import (
    CPU_PROVIDER,
    GPU_BATCH,
    THREADS,
    Precision,
    RecognizerSettings,
    RuntimeName,
)

MAX_SMALL_TENSOR_VALUES = 3 * 256 * 192
"""Numbers in the tensor of one image, up to which it is small. The zoom detector's windows have
256x160 px, grown to the stride."""

_OWN_COPIES = 4
COMES_AGAIN = 200
"""A large size that came so often gets a copy of its own, as the usual one has, if there are not so
many already. To prepare it takes 0.9 s of processor time where there is AVX2 only, and saves 3 to
7 ms a run. Sizes that come again are those of cameras."""

_MAX_COUNTED = 1_000
"""Sizes; photos of callers may have any."""

_SMALL_IMAGES_A_BATCH = 32
"""On a GPU, where others come in batches of ``GPU_BATCH``."""

_KEPT_PREPARATIONS = 100
"""Of a network's layers, the latest ones: enough for a process's memory to stay, while an image of
a new size takes half as long again."""

Tensor = npt.NDArray[Any]
Shape = tuple[int, ...]


class Model(Protocol):
    """A loaded ONNX file with one input tensor."""

    def run(self, tensor: Tensor) -> dict[str, Tensor]:
        """Return the output tensors by name. Not for two threads at a time.

        ``tensor`` has the shape and element type that the model's card says, an image a row.
        """


@dataclass(frozen=True)
class OnnxInfo:
    """An ONNX file's own description. Sides of a shape that are free are names or None."""

    metadata: dict[str, str]
    input: str
    input_type: str
    input_shape: tuple[int | str | None, ...]
    outputs: tuple[str, ...]
    output_shape: tuple[int | str | None, ...]
    """Of the first output."""


class _OnnxRuntimeModel:
    """A model in onnxruntime; on a GPU it gets tensors of few shapes only.

    CUDA prepares a network again whenever the shape of its input changes, also back to one that
    it had: 0.1 s of the reader, 0.8 s of the detector on an H200 with onnxruntime 1.31, where 64
    crops take the reader no longer than one (3.4 ms) and eight images the detector 8.0 ms, one
    4.2. So there a batch always has as many images, blank ones among them.
    """

    def __init__(self, path: Path, settings: RecognizerSettings) -> None:
        _silence_runtimes()
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = THREADS
        options.inter_op_num_threads = 1
        # Idle pool threads spin by default and eat the cores of the workers beside this one.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.add_session_config_entry("session.inter_op.allow_spinning", "0")
        options.log_severity_level = 3
        providers = settings.recognition_providers.split(",")
        if "CUDAExecutionProvider" in providers:
            # NVIDIA's libraries of the extra gpu lie where no loader looks.
            onnxruntime.preload_dlls()
        self._session = onnxruntime.InferenceSession(str(path), options, providers=providers)
        # It goes on with others, and tells nobody.
        if providers[0] not in (used := self._session.get_providers()):
            raise RuntimeError(f"{providers[0]} cannot be used here, only {', '.join(used)}")
        self._input = self._session.get_inputs()[0].name
        self._outputs = [output.name for output in self._session.get_outputs()]
        has_free_batch = not isinstance(self._session.get_inputs()[0].shape[0], int)
        self._fills_batches = has_free_batch and not settings.runs_on_cpu

    def run(self, tensor: Tensor) -> dict[str, Tensor]:
        return self._run_in_full_batches(tensor) if self._fills_batches else self._run(tensor)

    def _run(self, tensor: Tensor) -> dict[str, Tensor]:
        values = self._session.run(self._outputs, {self._input: tensor})
        return dict(zip(self._outputs, values, strict=True))

    def _run_in_full_batches(self, tensor: Tensor) -> dict[str, Tensor]:
        is_small = math.prod(tensor.shape[1:]) <= MAX_SMALL_TENSOR_VALUES
        rows = _SMALL_IMAGES_A_BATCH if is_small else GPU_BATCH
        each = []
        for start in range(0, len(tensor), rows):
            part = tensor[start : start + rows]
            blank = np.zeros((rows - len(part), *tensor.shape[1:]), tensor.dtype)
            values = self._run(np.concatenate([part, blank]))
            if any(len(value) != rows for value in values.values()):
                # What it gives are no rows an image: nobody can tell those of the blank ones.
                self._fills_batches = False
                return self._run(tensor)
            each.append({name: value[: len(part)] for name, value in values.items()})
        return {name: np.concatenate([one[name] for one in each]) for name in self._outputs}


class _OpenVinoModel:
    """A model in OpenVINO; for images of any size, in several copies of some 30 MB.

    One takes the usual size alone, which is a tenth faster. The others take small and large images,
    as a network prepares itself again where the size changes: an image and then a window take
    22.7 ms with one copy, 19.9 with two. A second one for any size is made out of the first when it
    is first needed, in 0.1 s.
    """

    def __init__(
        self, path: Path, settings: RecognizerSettings, precision: Precision, usual: Shape | None
    ) -> None:
        _silence_runtimes()
        import openvino

        device = _openvino_device(settings)
        options = _openvino_options(settings, precision)
        core = openvino.Core()
        model = core.read_model(str(path))
        self._is_single = device == "CPU" and _fix_batch(model)
        self._has_copies = device == "CPU" and _is_free_size(model)
        self._import = partial(core.import_model, device_name=device, config=options)
        compiled = partial(core.compile_model, device_name=device, config=options)
        alone = _of_one_size(model, usual) if self._has_copies and usual is not None else None
        with ThreadPoolExecutor(1) as executor:
            of_usual = None if alone is None else executor.submit(compiled, alone)
            self._compiled = compiled(model)
        self._of_one_size: dict[Shape, Any] = {}
        if of_usual is not None and usual is not None:
            self._of_one_size[usual] = of_usual.result().create_infer_request()
        self._compile_for = partial(_compiled_for, compiled, model)
        self._came = Counter[Shape]()
        self._of_any_size: dict[bool, Any] = {}
        """By whether they are for small images; each is made when it is first needed."""
        self._lock = Lock()
        self._outputs = [output.get_any_name() for output in self._compiled.outputs]

    def run(self, tensor: Tensor) -> dict[str, Tensor]:
        if not self._is_single or len(tensor) == 1:
            return self._infer(tensor)
        each = [self._infer(tensor[i : i + 1]) for i in range(len(tensor))]
        return {name: np.concatenate([one[name] for one in each]) for name in self._outputs}

    def _infer(self, tensor: Tensor) -> dict[str, Tensor]:
        # A second thread's request would change the first one's result without an error.
        with self._lock:
            values = self._request(tensor.shape).infer([tensor], share_inputs=True).values()
            return {n: np.array(value) for n, value in zip(self._outputs, values, strict=True)}

    def _request(self, shape: Shape) -> Any:
        """Return the copy that tensors of this shape go to."""
        if shape in self._of_one_size:
            return self._of_one_size[shape]
        is_small = self._has_copies and math.prod(shape[1:]) <= MAX_SMALL_TENSOR_VALUES
        if not is_small and self._gets_own(shape):
            self._of_one_size[shape] = self._compile_for(shape)
            return self._of_one_size[shape]
        if is_small not in self._of_any_size:
            # What was compiled at the start serves the size that comes first.
            is_first = not self._of_any_size
            own = self._compiled if is_first else self._import(self._compiled.export_model())
            self._of_any_size[is_small] = own.create_infer_request()
        return self._of_any_size[is_small]

    def _gets_own(self, shape: Shape) -> bool:
        """Note that a shape came; return whether it is to have a copy of its own from now on."""
        if not self._has_copies or len(self._of_one_size) > _OWN_COPIES:
            return False
        if shape not in self._came and len(self._came) >= _MAX_COUNTED:
            self._came.clear()
        self._came[shape] += 1
        return self._came[shape] >= COMES_AGAIN


def _openvino_device(settings: RecognizerSettings) -> str:
    return settings.recognition_providers.replace(CPU_PROVIDER, "CPU")


def _openvino_options(settings: RecognizerSettings, precision: Precision) -> dict[str, Any]:
    options: dict[str, Any] = {
        "INFERENCE_NUM_THREADS": THREADS,
        "NUM_STREAMS": 1,
        "INFERENCE_PRECISION_HINT": "bf16" if precision is Precision.BF16 else "f32",
        # Each process pins its thread to the first core by default: two workers would share
        # one core (26 images/s together in place of 49).
        "ENABLE_CPU_PINNING": False,
    }
    if _openvino_device(settings) == "CPU":
        # By default it keeps what it prepared for each size of image that it ever had, which
        # made a process three times as large within 200 sizes.
        options["CPU_RUNTIME_CACHE_CAPACITY"] = _KEPT_PREPARATIONS
    return options


def _compiled_for(compiled: Callable[[Any], Any], model: Any, shape: Shape) -> Any:
    """Return a request of a copy for one shape, which the network is known to take."""
    return compiled(_of_one_size(model, shape)).create_infer_request()


def _fix_batch(model: Any) -> bool:
    """Make a model of free batch size one of single images; return whether it was one.

    A processor gains nothing from batches and loses by a free size: a crop takes the reader 2.0 ms
    alone, 2.8 with a free batch size, 2.4 each in batches of two.
    """
    shape = model.input().partial_shape
    is_free: bool = shape.rank.is_static and len(shape) > 0 and shape[0].is_dynamic
    if is_free:
        shape[0] = 1
        model.reshape(shape)
    return is_free


def _of_one_size(model: Any, shape: Shape) -> Any | None:
    """Return a copy of a model for tensors of a shape, None where it takes no such tensors.

    The trial run after loading says what does not fit.
    """
    copy = model.clone()
    try:
        copy.reshape(list(shape))
    except RuntimeError:
        return None
    return copy


def _is_free_size(model: Any) -> bool:
    """Return whether a model takes images of any height or width."""
    shape = model.input().partial_shape
    return bool(shape.rank.is_dynamic or any(side.is_dynamic for side in list(shape)[1:]))


def load_model(
    path: Path, settings: RecognizerSettings, precision: Precision, usual_shape: Shape | None = None
) -> Model:
    """Load an ONNX file into the runtime that the settings name.

    ``usual_shape`` is that of most tensors, for a model that takes images of any size.

    Raises:
        MisconfiguredError: the runtime does not take the file or the providers.
    """
    try:
        if settings.recognition_runtime is RuntimeName.OPENVINO:
            return _OpenVinoModel(path, settings, precision, usual_shape)
        return _OnnxRuntimeModel(path, settings)
    # Both runtimes raise classes of their own that share nothing but Exception.
    except Exception as error:
        name = settings.recognition_runtime
        raise MisconfiguredError(f"{name} cannot load {path}: {error}") from error


def inspect_onnx(path: Path) -> OnnxInfo:
    """Return an ONNX file's own description.

    Raises:
        MisconfiguredError: it is no ONNX file.
    """
    _silence_runtimes()
    import onnxruntime

    try:
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    # onnxruntime's classes share nothing but Exception.
    except Exception as error:
        raise MisconfiguredError(f"{path} is no ONNX file that can be loaded: {error}") from error
    image, outputs = session.get_inputs()[0], session.get_outputs()
    return OnnxInfo(
        metadata=dict(session.get_modelmeta().custom_metadata_map),
        input=image.name,
        input_type=image.type,
        input_shape=tuple(image.shape),
        outputs=tuple(output.name for output in outputs),
        output_shape=tuple(outputs[0].shape),
    )


def _silence_runtimes() -> None:
    """Keep both runtimes from writing ids under the home directory and calling their makers.

    onnxruntime 1.31 opens a telemetry store when it is imported; openvino 2026.4 sends an event
    over the network when it is imported, and waits for it (25 s without a network).
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    # openvino takes the stub it brings along when this cannot be imported.
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
