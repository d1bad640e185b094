"""An RTSP camera that plays a video file: a process that a test can freeze or kill."""

import os
import signal
import subprocess
import threading
from pathlib import Path
from queue import Empty, Queue
from typing import Self

from deploy.local.ports import free_ports
from deploy.local.servers.base import tied

_SCRIPT = Path(__file__).with_name("rtsp_server.py")
# Only Debian's own interpreter has GStreamer for Python.
_SYSTEM_PYTHON = "/usr/bin/python3"
_START_SECONDS = 30


class RtspCamera:
    """A camera at ``rtsp://<host>:<port>/camera``. Use the camera as a context manager.

    The camera plays the file's H.264 unchanged, in real time and in a seamless loop, from the first
    client's connection on. With ``once``, the camera plays the file once and then returns 404.
    """

    def __init__(
        self,
        *clips: Path,
        once: bool = False,
        user: str = "",
        password: str = "",
        host: str = "127.0.0.1",
    ) -> None:
        """Take the files (see ``rtsp_server.py``) and how to play them. Nothing is started."""
        (self.port,) = free_ports(1)
        self.host = host
        self._user = user
        self._password = password
        options = ["--port", str(self.port), "--address", host]
        if once:
            options.append("--once")
        if user:
            options += ["--user", user, "--password", password]
        self._command = tied(_SYSTEM_PYTHON, str(_SCRIPT), *map(str, clips), *options)
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None
        self._lines: Queue[str] = Queue()

    @property
    def url(self) -> str:
        """Stream URL, with user and password if the camera requires a login."""
        login = f"{self._user}:{self._password}@" if self._user else ""
        return f"rtsp://{login}{self.host}:{self.port}/camera"

    def start(self) -> None:
        """Start and wait until the camera listens; after :meth:`kill`, at the same address."""
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        self._reader = threading.Thread(target=self._listen, args=(self._process,), daemon=True)
        self._reader.start()
        self._wait_for("listening", _START_SECONDS)

    def wait_until_ended(self, *, seconds: float) -> None:
        """Wait until a camera that plays once has sent its last frame."""
        self._wait_for("ended", seconds)

    def pause(self) -> None:
        """Freeze the camera: the connection stays open without frames (SIGSTOP)."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Resume the camera (SIGCONT)."""
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """Kill the camera (SIGKILL). Its connections break immediately."""
        assert self._process is not None and self._reader is not None
        self._signal(signal.SIGKILL)
        self._process.wait(10)
        self._reader.join(10)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None and self._process.poll() is None:
            self.kill()

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        os.kill(self._process.pid, number)

    def _listen(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self._lines.put(line.strip())

    def _wait_for(self, word: str, seconds: float) -> None:
        try:
            while not self._lines.get(timeout=seconds).startswith(word):
                pass
        except Empty as error:
            raise AssertionError(f"the camera is not {word!r} after {seconds} s") from error
