"""Settings of the recognition engine and its worker pool."""

import re
from enum import StrEnum
from pathlib import Path

from pydantic import Field, field_validator

from common.settings import Fragment
from recognition.processors import available_processors, computes_bf16

THREADS = 1
"""Number of threads of an inference worker. More workers use the CPU better than more threads."""

MODELS = Path(__file__).parent / "models"

CPU_PROVIDER = "CPUExecutionProvider"

GPU_BATCH = 8
_MIN_WORKER_BYTES, _CPU_WORKER_BYTES, _GPU_WORKER_BYTES = 2**28, 3 * 2**29, 2**32

HUB = "hub:"
"""Prefix of a reader's name in fast-plate-ocr's hub."""
PIN_MARK = "#sha256="
"""Separator between a hub reader's name and the checksums of the reader's files."""
_HUB_MODEL = re.compile(rf"{HUB}[^#]+({PIN_MARK}[0-9a-f]{{64}},[0-9a-f]{{64}})?")


class RuntimeName(StrEnum):
    """Inference runtime that runs the ONNX files."""

    ONNXRUNTIME = "onnxruntime"
    OPENVINO = "openvino"


class Precision(StrEnum):
    """Number format of the models' computations."""

    AUTO = "auto"
    INT8 = "int8"
    BF16 = "bf16"
    FLOAT = "float"


class RecognizerSettings(Fragment):
    """Models, runtime and thresholds of the engine."""

    recognition_detector_model: Path | None = Field(
        None,
        description="ONNX file of the plate detector, with its model card (.json) next to it. "
        "Ultralytics exports and open-image-models files need no card. Unset: built-in.",
    )
    recognition_reader_model: str = Field(
        "",
        description="ONNX file of the plate reader, with its model card (.json) or fast-plate-ocr "
        "configuration (NAME_plate_config.yaml) next to it, or `hub:NAME` for a fast-plate-ocr hub "
        f"model, downloaded at the first start; `hub:NAME{PIN_MARK}SUM,SUM` pins the model and its "
        "configuration. Unset: built-in.",
    )
    recognition_second_reader: bool | Path = Field(
        True,
        union_mode="left_to_right",
        description="Ask a second model, which reads plates as text lines, when the reader is "
        "uncertain: `true`, `false`, or the ONNX file of another second reader, with its model "
        "card (.json) next to it.",
    )
    recognition_plate_formats: bool = Field(
        True,
        description="Use national plate formats to resolve ambiguous characters (8/B, 2/Z, 0/O). "
        "Confident characters only change between 0 and O on US plates.",
    )
    recognition_runtime: RuntimeName = Field(
        RuntimeName.OPENVINO, description="Inference runtime: `onnxruntime` or `openvino`."
    )
    recognition_precision: Precision = Field(
        Precision.AUTO,
        description="Precision of the models: `int8` (built-in detector in 8 bits, readers in "
        "32-bit floats), `bf16` (OpenVINO only), `float` (32 bits) or `auto`. `auto` selects "
        "`bf16` on CPUs with AMX or AVX-512 instructions for it, `int8` on other CPUs, and `float` "
        "on a GPU and with ONNX Runtime.",
    )
    recognition_providers: str = Field(
        CPU_PROVIDER,
        description="Comma-separated ONNX Runtime providers in order of preference, or the "
        "OpenVINO device (CPU, GPU).",
    )
    recognition_detection_threshold: float | None = Field(
        None, ge=0, le=1, description="Minimum detector score; unset: as in the model card."
    )
    recognition_input_size: int | None = Field(
        None,
        ge=64,
        le=4096,
        description="Input size in pixels for detectors with a variable size; unset: as in the "
        "model card.",
    )

    @field_validator("recognition_reader_model")
    @classmethod
    def _is_pinned_correctly(cls, value: str) -> str:
        if value.startswith(HUB) and not _HUB_MODEL.fullmatch(value):
            raise ValueError(f"must be {HUB}NAME or {HUB}NAME{PIN_MARK}SUM,SUM")
        return value

    @property
    def runs_on_cpu(self) -> bool:
        """Whether the models run only on the CPU."""
        return self.recognition_providers in (CPU_PROVIDER, "CPU")

    @property
    def detector_path(self) -> Path:
        """The detector's ONNX file."""
        is_int8 = self.precision is Precision.INT8
        built_in = MODELS / ("plate-detector.onnx" if is_int8 else "plate-detector-float.onnx")
        return self.recognition_detector_model or built_in

    @property
    def precision(self) -> Precision:
        """Number format of the models, never ``AUTO``.

        CPU time of the detector at 640x384 px with AVX2 only: with OpenVINO, 29.7 ms in 8 bits and
        48.5 ms in floats; with onnxruntime, 80.2 ms and 57.9 ms. With AMX and varying image sizes:
        37 to 44 ms in bf16, and 144 to 209 ms in 8 bits.
        """
        if self.recognition_precision is not Precision.AUTO:
            return self.recognition_precision
        if not self.runs_on_cpu or self.recognition_runtime is RuntimeName.ONNXRUNTIME:
            return Precision.FLOAT
        return Precision.BF16 if computes_bf16() else Precision.INT8

    @property
    def reader_path(self) -> Path:
        """The reader's ONNX file."""
        return Path(self.recognition_reader_model or MODELS / "plate-reader.onnx")

    @property
    def reader_hub_model(self) -> str | None:
        """Name of a reader in fast-plate-ocr's hub, including its checksums, if any."""
        given = self.recognition_reader_model
        return given.removeprefix(HUB) if given.startswith(HUB) else None

    @property
    def second_reader_path(self) -> Path:
        """The second reader's ONNX file."""
        given = self.recognition_second_reader
        return given if isinstance(given, Path) else MODELS / "plate-second-reader.onnx"


class RecognizerPoolSettings(RecognizerSettings):
    """Number and limits of the inference workers."""

    recognition_workers: int = Field(
        0,
        ge=0,
        le=256,
        description="Number of inference workers of the recognition stage; 0: number of CPUs "
        "minus one.",
    )
    recognition_batch: int = Field(
        0,
        ge=0,
        le=64,
        description="Maximum number of images per inference batch. "
        f"0: {GPU_BATCH} on a GPU, 1 on a CPU, which does not benefit from batches.",
    )
    recognition_worker_memory_bytes: int = Field(
        0,
        ge=0,
        description="Memory limit of an inference worker, at least 268435456; above it, the "
        "worker is replaced. 0: 1.5 GiB, or 4 GiB on a GPU.",
    )

    @property
    def batch_size(self) -> int:
        """Maximum number of images in a worker's batch."""
        return self.recognition_batch or (1 if self.runs_on_cpu else GPU_BATCH)

    @property
    def worker_memory_bytes(self) -> int:
        """Memory limit of a worker."""
        by_default = _CPU_WORKER_BYTES if self.runs_on_cpu else _GPU_WORKER_BYTES
        return self.recognition_worker_memory_bytes or by_default

    @field_validator("recognition_worker_memory_bytes")
    @classmethod
    def _is_enough(cls, value: int) -> int:
        if 0 < value < _MIN_WORKER_BYTES:
            raise ValueError(f"must be 0, or at least {_MIN_WORKER_BYTES}")
        return value

    @property
    def worker_count(self) -> int:
        """Number of inference workers."""
        return self.recognition_workers or all_processors_but_one()


def all_processors_but_one() -> int:
    """Return the number of CPUs minus one. One CPU is reserved for work other than recognition."""
    return max(1, available_processors() - 1)
