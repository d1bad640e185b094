"""The image, built by buildah on a base of Debian packages, and its files as a root folder."""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deploy.local.servers.base import CLONE, tied

BASE: Final = "localhost/platestream-test-base"
IMAGE: Final = "localhost/platestream-test"
USER: Final = "10001"
HOME: Final = "/var/lib/platestream"
CLIPS: Final = "/camera-files"
CLIPS_OF_THE_CLONE: Final = CLONE / "deploy" / "local" / "demo"
_MINUTES: Final = 60
_AS_IN_A_CONTAINER: Final = str(Path(__file__).with_name("as_in_a_container.sh"))


@dataclass(frozen=True)
class BuiltImage:
    """An image with its files at ``root``."""

    root: Path
    configuration: Mapping[str, object]

    @property
    def environment(self) -> dict[str, str]:
        pairs = self.configuration["Env"]
        assert isinstance(pairs, list)
        return dict(pair.split("=", 1) for pair in pairs)

    def command(
        self, clips: Path, *command: str, environment: Mapping[str, str] | None = None
    ) -> tuple[str, ...]:
        """Return the command that runs ``command`` as in a container, with only the variables of
        the image and ``environment``. Video files are at ``CLIPS``.
        """
        given = {**self.environment, **(environment or {})}
        pairs = [f"{name}={value}" for name, value in given.items()]
        inside = ("env", "--ignore-environment", f"--chdir={HOME}", *pairs, *command)
        script = ("sh", "-e", _AS_IN_A_CONTAINER, str(self.root), str(clips))
        return tied("unshare", "--mount", "--propagation", "private", *script, *inside)


@contextmanager
def built_image() -> Iterator[BuiltImage]:
    """Yield the mounted image. It is retained, and unchanged layers are not built again."""
    if BASE not in _run("buildah", "images", "--format", "{{.Name}}"):
        _run("deploy/image/base.sh", BASE)
    build = ["--layers", "--format=docker"]
    # A proxy for package downloads must be trusted in the build as well.
    if certificates := os.environ.get("PIP_CERT"):
        build.append(f"--secret=id=ca.pem,src={certificates}")
    builder = "BUILDER=buildah build --isolation=chroot"
    _run("make", "image", builder, f"BASE={BASE}", f"IMAGE={IMAGE}", f"BUILD={' '.join(build)}")
    described = json.loads(_run("buildah", "inspect", "--type", "image", IMAGE))
    container = _run("buildah", "from", "--pull-never", IMAGE)
    try:
        yield BuiltImage(Path(_run("buildah", "mount", container)), described["Docker"]["config"])
    finally:
        _run("buildah", "rm", container)


def _run(*command: str) -> str:
    result = subprocess.run(
        command, cwd=CLONE, capture_output=True, text=True, check=False, timeout=_MINUTES * 60
    )
    assert result.returncode == 0, f"{command}: {result.stdout[-2000:]}{result.stderr[-4000:]}"
    return result.stdout.strip()
