"""Regenerates the lock files in requirements/ with exact versions and hashes, but no index URLs."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

CLONE = Path(__file__).resolve().parents[2]
SOURCES: Final[Mapping[str, tuple[str, ...]]] = {
    "service": ("pyproject.toml",),
    "gpu": ("pyproject.toml", "--extra=gpu", "--overrides=requirements/gpu-overrides.txt"),
    "runtime": ("pyproject.toml", "--extra=local"),
    "dev": ("pyproject.toml", "--extra=local", "--extra=dev"),
    "train": ("pyproject.toml", "--extra=train"),
    "charts": ("requirements/charts.in",),
}
"""For each lock file, the files whose requirements it contains, and additional options."""

OPTIONS: Final = (
    "--python-version=3.11",
    "--generate-hashes",
    "--no-emit-index-url",
    "--no-emit-find-links",
    "--no-header",
    "--upgrade",
)


def main(*names: str) -> None:
    """Regenerate all lock files, or only the lock files in ``names``."""
    uv = str(Path(sys.executable).with_name("uv"))
    for name in names or SOURCES:
        command = (uv, "pip", "compile", "--quiet", *SOURCES[name], *OPTIONS)
        subprocess.run((*command, "-o", f"requirements/{name}.txt"), cwd=CLONE, check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
