"""Runs ONNX files with onnxruntime or OpenVINO through a common interface.

The runtimes' types are not used outside this module.
"""

import math
import os
import sys
from collections.abc import Sequence
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

_MAX_SMALL_TENSOR_VALUES, _SMALL_IMAGE_BATCH = 3 * 256 * 192, 32
"""Maximum number of values in the tensor of a small image, such as a crop, and the batch size of
small images on a GPU. Larger images have batches of ``GPU_BATCH``."""

_CACHED_LAYERS = 100
"""Number of prepared layers in the cache. With this limit, a process's memory stays constant, but
an image of a new size takes 50 % longer."""

Tensor = npt.NDArray[Any]
Shape = tuple[int, ...]
Shapes = Sequence[Shape]


class Model(Protocol):
    """A loaded ONNX file with one input tensor."""

    def run(self, tensor: Tensor) -> dict[str, Tensor]:
        """Return the output tensors by name. Not thread-safe.

        ``tensor`` has the shape and element type of the model card. Each row is one image.
        """


@dataclass(frozen=True)
class OnnxInfo:
    """Metadata of an ONNX file. Variable dimensions of a shape are names or None."""

    metadata: dict[str, str]
    input: str
    input_type: str
    input_shape: tuple[int | str | None, ...]
    outputs: tuple[str, ...]
    output_shape: tuple[int | str | None, ...]
    """Shape of the first output."""


class _OnnxRuntimeModel:
    """A model in onnxruntime. On a GPU, its tensors have only a few shapes.

    CUDA prepares a network again each time the shape of its input changes, even back to an earlier
    shape, in 0.1 s for the reader and 0.8 s for the detector (H200, onnxruntime 1.31). The reader
    takes 3.4 ms for one crop and for 64, and the detector takes 4.2 ms for one image and 8.0 ms for
    eight. So on a GPU, batches are filled up with blank images.
    """

    def __init__(self, path: Path, settings: RecognizerSettings) -> None:
        _silence_runtimes()
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = THREADS
        options.inter_op_num_threads = 1
        # By default, idle pool threads spin, which takes CPU time from other workers.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.add_session_config_entry("session.inter_op.allow_spinning", "0")
        options.log_severity_level = 3
        providers = settings.recognition_providers.split(",")
        if "CUDAExecutionProvider" in providers:
            # The NVIDIA libraries from the `gpu` extra are not on the loader's path.
            onnxruntime.preload_dlls()
        self._session = onnxruntime.InferenceSession(str(path), options, providers=providers)
        # onnxruntime silently falls back to other providers.
        if providers[0] not in (used := self._session.get_providers()):
            raise RuntimeError(f"{providers[0]} is not available; available: {', '.join(used)}")
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
        is_small = math.prod(tensor.shape[1:]) <= _MAX_SMALL_TENSOR_VALUES
        rows = _SMALL_IMAGE_BATCH if is_small else GPU_BATCH
        each = []
        for start in range(0, len(tensor), rows):
            part = tensor[start : start + rows]
            blank = np.zeros((rows - len(part), *tensor.shape[1:]), tensor.dtype)
            values = self._run(np.concatenate([part, blank]))
            if any(len(value) != rows for value in values.values()):
                # If the output does not have one row per image, blank images cannot be removed.
                self._fills_batches = False
                return self._run(tensor)
            each.append({name: value[: len(part)] for name, value in values.items()})
        return {name: np.concatenate([one[name] for one in each]) for name in self._outputs}


class _OpenVinoModel:
    """A model in OpenVINO. A model with a variable image size is compiled for each size in use.

    A network compiled for one size is a tenth faster than one for any size, which also prepares
    again whenever the size changes.
    """

    def __init__(
        self, path: Path, settings: RecognizerSettings, precision: Precision, shapes: Shapes
    ) -> None:
        _silence_runtimes()
        import openvino

        device = _openvino_device(settings)
        options = _openvino_options(settings, precision)
        core = openvino.Core()
        model = core.read_model(str(path))
        self._is_single = device == "CPU" and _fix_batch(model)
        self._outputs = [output.get_any_name() for output in model.outputs]
        self._model, self._shapes = model, frozenset(shapes if _is_free_size(model) else ())
        self._compile = partial(core.compile_model, device_name=device, config=options)
        self._requests: dict[Shape | None, Any] = {}
        """Inference requests by shape, each created when first needed; None for other shapes."""
        self._lock = Lock()

    def run(self, tensor: Tensor) -> dict[str, Tensor]:
        if not self._is_single or len(tensor) == 1:
            return self._infer(tensor)
        each = [self._infer(tensor[i : i + 1]) for i in range(len(tensor))]
        return {name: np.concatenate([one[name] for one in each]) for name in self._outputs}

    def _infer(self, tensor: Tensor) -> dict[str, Tensor]:
        # Concurrent requests would silently overwrite each other's results.
        with self._lock:
            values = self._request(tensor.shape).infer([tensor], share_inputs=True).values()
            return {n: np.array(value) for n, value in zip(self._outputs, values, strict=True)}

    def _request(self, shape: Shape) -> Any:
        """Return the inference request for tensors of this shape."""
        key = shape if shape in self._shapes else None
        if key not in self._requests:
            model = self._model if key is None else self._model.clone()
            if key is not None:
                model.reshape(list(key))
            self._requests[key] = self._compile(model).create_infer_request()
        return self._requests[key]


def _openvino_device(settings: RecognizerSettings) -> str:
    return settings.recognition_providers.replace(CPU_PROVIDER, "CPU")


def _openvino_options(settings: RecognizerSettings, precision: Precision) -> dict[str, Any]:
    options: dict[str, Any] = {
        "INFERENCE_NUM_THREADS": THREADS,
        "NUM_STREAMS": 1,
        "INFERENCE_PRECISION_HINT": "bf16" if precision is Precision.BF16 else "f32",
        # By default, each process pins its thread to the first core. Two workers would share that
        # core (26 images/s in total instead of 49).
        "ENABLE_CPU_PINNING": False,
    }
    if _openvino_device(settings) == "CPU":
        # By default, OpenVINO caches its preparation for every image size, which tripled the memory
        # of a process after 200 sizes.
        options["CPU_RUNTIME_CACHE_CAPACITY"] = _CACHED_LAYERS
    return options


def _fix_batch(model: Any) -> bool:
    """Set a model's variable batch size to 1. Return whether the size was variable.

    CPUs do not benefit from batches, and a variable size costs time: the reader takes 2.0 ms for a
    single crop, 2.8 ms with a variable batch size, and 2.4 ms per crop in batches of two.
    """
    shape = model.input().partial_shape
    is_free: bool = shape.rank.is_static and len(shape) > 0 and shape[0].is_dynamic
    if is_free:
        shape[0] = 1
        model.reshape(shape)
    return is_free


def _is_free_size(model: Any) -> bool:
    """Return whether a model accepts images of any height or width."""
    shape = model.input().partial_shape
    return bool(shape.rank.is_dynamic or any(side.is_dynamic for side in list(shape)[1:]))


def load_model(
    path: Path, settings: RecognizerSettings, precision: Precision, shapes: Shapes = ()
) -> Model:
    """Load an ONNX file into the configured runtime.

    ``shapes`` are those of all tensors of a model with a variable image size. The model is compiled
    for each shape when it first occurs.

    Raises:
        MisconfiguredError: the runtime rejects the file or the providers.
    """
    try:
        if settings.recognition_runtime is RuntimeName.OPENVINO:
            return _OpenVinoModel(path, settings, precision, shapes)
        return _OnnxRuntimeModel(path, settings)
    # The runtimes' exceptions have no common base class except Exception.
    except Exception as error:
        name = settings.recognition_runtime
        raise MisconfiguredError(f"{name} cannot load {path}: {error}") from error


def inspect_onnx(path: Path) -> OnnxInfo:
    """Return an ONNX file's metadata.

    Raises:
        MisconfiguredError: ``path`` is not a loadable ONNX file.
    """
    _silence_runtimes()
    import onnxruntime

    try:
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    # onnxruntime's exceptions have no common base class except Exception.
    except Exception as error:
        raise MisconfiguredError(f"{path} is not a loadable ONNX file: {error}") from error
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
    """Disable both runtimes' telemetry.

    On import, onnxruntime 1.31 opens a telemetry store in the home directory. On import, openvino
    2026.4 sends an event over the network and waits for a response (25 s without a network).
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    # Make the import of the telemetry fail, so that openvino uses a built-in stub.
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
