"""Makes the lock files of requirements/ anew: exact versions with hashes, no addresses."""

import subprocess
import sys
from pathlib import Path

CLONE = Path(__file__).resolve().parents[2]
EXTRAS = {"runtime": ("local",), "dev": ("local", "dev"), "train": ("train",)}
OPTIONS = (
    "--python-version=3.11",
    "--generate-hashes",
    "--no-emit-index-url",
    "--no-emit-find-links",
    "--no-header",
    "--upgrade",
)


def main() -> None:
    """Resolve ``pyproject.toml`` once for each lock file."""
    uv = Path(sys.executable).with_name("uv")
    for name, extras in EXTRAS.items():
        chosen = [f"--extra={extra}" for extra in extras]
        command = (str(uv), "pip", "compile", "--quiet", "pyproject.toml", *chosen, *OPTIONS)
        subprocess.run((*command, "-o", f"requirements/{name}.txt"), cwd=CLONE, check=True)


if __name__ == "__main__":
    main()
