"""Runs Debian's ``ip``, which creates networks between processes of this machine. Requires root."""

import subprocess

_SECONDS = 10


def ip(*words: str) -> None:
    """Run the ``ip`` command with arguments.

    Raises:
        subprocess.CalledProcessError: the command failed; ``stderr`` contains the reason.
    """
    subprocess.run(("ip", *words), check=True, capture_output=True, timeout=_SECONDS)
