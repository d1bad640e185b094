"""``make resolutions``: says where the locked packages can be installed, without installing any.

Each package has a wheel for that Python and machine, or is one that is built from its source; all
are held to the sums of the lock file. Whether it all works there is another question.
"""

import platform
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Final

from deploy.local.bootstrap import BUILT_FROM_SOURCE

CLONE: Final = Path(__file__).resolve().parents[2]
# glibc of Debian 12, the oldest that is told to work.
_MACHINES: Final = {
    "x86_64": "x86_64-manylinux_2_36",
    "aarch64": "aarch64-manylinux_2_36",
}
_PYTHONS: Final = ("3.11", "3.12", "3.13")
_LOCKS: Final = ("service", "gpu", "runtime", "dev")
_NEEDED: Final = "service"
"""What has to be installable everywhere."""


def main() -> None:
    """Try all; status 1 where what has to be installable is not."""
    failed = False
    for lock, python, machine in product(_LOCKS, _PYTHONS, _MACHINES):
        fault = _fault(lock, python, machine)
        failed = failed or (bool(fault) and lock == _NEEDED)
        print(f"{lock:8} {python} {machine:8} {fault or 'ok'}", flush=True)
    print(f"(asked on {platform.machine()}; nothing was installed)")
    sys.exit(failed)


def _fault(lock: str, python: str, machine: str) -> str:
    """Return why a lock file cannot be installed, empty where it can."""
    command = (
        str(Path(sys.executable).with_name("uv")),
        *("pip", "install", "--quiet", "--dry-run", "--target", str(CLONE / ".local" / "nowhere")),
        *("--python-version", python, "--python-platform", _MACHINES[machine]),
        *("--require-hashes", "--only-binary", ":all:"),
        *(("--no-binary", BUILT_FROM_SOURCE[machine]) if machine in BUILT_FROM_SOURCE else ()),
        *("-r", f"requirements/{lock}.txt"),
    )
    done = subprocess.run(command, cwd=CLONE, capture_output=True, text=True, check=False)
    said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    causes = [line for line in said if line.startswith("cause:")] or said[-1:]
    return "" if done.returncode == 0 else (causes or ["failed"])[0][:200]


if __name__ == "__main__":
    main()
