"""Debian's ``ip``, which creates networks between processes of this machine. Requires root."""

import subprocess

_SECONDS = 10


def ip(*words: str) -> None:
    """Run ``ip`` with these arguments.

    Raises:
        subprocess.CalledProcessError: it refused; ``stderr`` says why.
    """
    subprocess.run(("ip", *words), check=True, capture_output=True, timeout=_SECONDS)
