"""Debian's ``ip``, by which networks between processes of this machine are laid. It takes root."""

import subprocess

_SECONDS = 10


def ip(*words: str) -> None:
    """Run ``ip`` with these words.

    Raises:
        subprocess.CalledProcessError: it refused; ``stderr`` says why.
    """
    subprocess.run(("ip", *words), check=True, capture_output=True, timeout=_SECONDS)
