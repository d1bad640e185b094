"""Makes the typed Python client from the API's own description.

Command: ``python -m tools.scripts.python_client [FOLDER]``; without a folder, into tools/client.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from api.app import create_app
from api.openapi import describe

CLONE = Path(__file__).resolve().parents[2]
PROJECT = CLONE / "tools" / "client"
PACKAGE = "platestream_client"


def generate(folder: Path) -> Path:
    """Write the package into ``folder`` and return where it is.

    Raises:
        subprocess.CalledProcessError: the generator is missing or does not understand all of the
            description; what it said is in its output.
    """
    package = folder / PACKAGE
    with TemporaryDirectory() as scratch:
        description = Path(scratch) / "openapi.json"
        description.write_text(json.dumps(describe(create_app())))
        command = (
            *(sys.executable, "-m", "openapi_python_client", "generate", "--fail-on-warning"),
            *("--path", str(description), "--config", str(PROJECT / "generator.yml")),
            *("--meta", "none", "--overwrite", "--output-path", str(package)),
        )
        # It formats what it has written with the ruff on its path.
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
        environment = {**os.environ, "PATH": path}
        subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    (package / "py.typed").touch()
    return package


def main() -> None:
    """Make the client, or say why not."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else PROJECT
    try:
        print(f"written: {generate(folder)}")
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"{error.stdout}{error.stderr}") from error


if __name__ == "__main__":
    main()
