"""Simulates a camera that sends a clip in a loop, as an MPEG transport stream over HTTP."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import av


class _Handler(BaseHTTPRequestHandler):
    def __init__(self, clip: Path, *arguments: Any) -> None:
        self._clip = clip
        super().__init__(*arguments)

    def do_GET(self) -> None:  # http.server requires this name
        """Play the clip in real time until the client disconnects."""
        self.send_response(200)
        self.send_header("Content-Type", "video/mp2t")
        self.end_headers()
        try:
            _play(self._clip, self.wfile)
        except (OSError, av.FFmpegError):
            self.close_connection = True

    def log_message(self, format: str, *arguments: Any) -> None:
        """Do not log requests."""


def _play(clip: Path, out: Any) -> None:
    began, played_seconds = time.monotonic(), 0.0
    with (
        av.open(str(clip)) as source,
        av.open(out, "w", format="mpegts", container_options={"flush_packets": "1"}) as sent,
    ):
        video = source.streams.video[0]
        assert video.time_base is not None and video.duration is not None
        stream = sent.add_stream_from_template(video)
        while True:
            source.seek(0)
            for packet in source.demux(video):
                if packet.dts is None or packet.pts is None:
                    continue
                shift = round(played_seconds / video.time_base)
                due = began + float((packet.dts + shift) * video.time_base)
                time.sleep(max(0.0, due - time.monotonic()))
                packet.pts, packet.dts = packet.pts + shift, packet.dts + shift
                packet.stream = stream
                sent.mux(packet)
            played_seconds += float(video.duration * video.time_base)


@contextmanager
def running_camera(clip: Path) -> Iterator[str]:
    """Run the camera, and yield the camera's URL. Each client gets the clip from the start."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, clip))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/camera.ts"
    finally:
        server.shutdown()
        server.server_close()
