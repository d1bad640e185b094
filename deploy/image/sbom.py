"""Prints the software bill of materials of the image: Debian packages, Python packages and models.

With the argument ``python``, the script describes a Python environment, without Debian packages. It
uses only the standard library. Run it with the Python of the environment to describe.

**Source:** CycloneDX 1.6; package URLs according to purl-spec.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from importlib.metadata import Distribution, distributions
from pathlib import Path
from urllib.parse import quote

DEBIAN_FIELDS = "${Package}\t${Version}\t${Architecture}\t${db:Status-Status}\n"


def debian_packages() -> Iterator[dict[str, object]]:
    """Yield the installed Debian packages."""
    command = ("dpkg-query", "--show", f"--showformat={DEBIAN_FIELDS}")
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for line in sorted(listing.splitlines()):
        name, version, architecture, status = line.split("\t")
        if status == "installed":
            purl = f"pkg:deb/debian/{name}@{quote(version)}?arch={architecture}"
            yield component("library", name, version, purl)


def python_packages() -> Iterator[dict[str, object]]:
    """Yield the packages that are installed in this Python environment."""
    for found in sorted(distributions(), key=lambda each: each.name.lower()):
        name = re.sub(r"[-_.]+", "-", found.name).lower()
        part = component("library", name, found.version, f"pkg:pypi/{name}@{found.version}")
        if licence := _licence(found):
            part["licenses"] = [{"license": {"name": licence}}]
        yield part


def _licence(found: Distribution) -> str:
    fields = ("License-Expression", "License")
    stated = [text for field in fields for text in found.metadata.get_all(field) or ()]
    lines = stated[0].strip().splitlines() if stated else []
    return lines[0] if len(lines) == 1 else ""


def models() -> Iterator[dict[str, object]]:
    """Yield the models that are shipped with the service, each with the checksum of its file."""
    (folder,) = Path(sys.prefix).glob("lib/python*/site-packages/recognition/models")
    for file in sorted(folder.glob("*.onnx")):
        total = sha256(file.read_bytes()).hexdigest()
        part = component("machine-learning-model", file.stem, total[:12], None)
        part["hashes"] = [{"alg": "SHA-256", "content": total}]
        yield part


def component(kind: str, name: str, version: str, purl: str | None) -> dict[str, object]:
    """Return a package or model as a CycloneDX component."""
    part: dict[str, object] = {"type": kind, "name": name, "version": version}
    return part if purl is None else {**part, "bom-ref": purl, "purl": purl}


def bill(*, of_image: bool) -> dict[str, object]:
    """Return the bill of materials of an image, or of this Python environment."""
    kind = "container" if of_image else "application"
    debian = debian_packages() if of_image else ()
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": kind, "name": "platestream"}},
        "components": [*debian, *python_packages(), *models()],
    }


if __name__ == "__main__":
    json.dump(bill(of_image=sys.argv[1:] != ["python"]), sys.stdout, indent=1)
