"""Plays a video file as an RTSP camera. Runs with the system's Python, which has GStreamer.

    /usr/bin/python3 rtsp_server.py FILE... [--once] [--port N] [--address IP]
                                      [--user U --password P]

The first file is at /camera, others at their names without the suffix, which is ``.mp4`` for
H.264, ``.h265`` or ``.jpeg`` (all MP4 or QuickTime). Its video is sent unchanged, in real time,
from the connection of the first client on. It loops without a gap. With --once, it ends, and the
camera then returns 404. The program prints its progress: ``listening PORT``, ``playing``,
``ended``.
"""

import argparse
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import GLib, Gst, GstRtspServer  # noqa: E402 - versions are named first

PATH = "/camera"
# Type, parser and payloader. The parser inserts parameter sets before each keyframe. The payloader
# would insert them before each slice of a keyframe, and so split the frame in two.
CODECS = {
    ".mp4": (
        "video/x-h264,stream-format=byte-stream,alignment=au",
        "h264parse config-interval=-1",
        "rtph264pay pt=96",
    ),
    ".h265": (
        "video/x-h265,stream-format=byte-stream,alignment=au",
        "h265parse config-interval=-1",
        "rtph265pay pt=96",
    ),
    ".jpeg": ("image/jpeg", "jpegparse", "rtpjpegpay"),
}
READER = "filesrc name=file ! qtdemux ! {parser} ! {caps} ! appsink name=sink sync=false"
SENDER = (
    "( appsrc name=source is-live=true format=time max-bytes=50000000 caps={caps} "
    "! {parser} ! {payloader} name=pay0 )"
)


@dataclass(frozen=True)
class AccessUnit:
    """A coded frame, with its decode time and its display time (seconds from the clip's start)."""

    data: bytes
    decode_seconds: float
    show_seconds: float


@dataclass(frozen=True)
class Clip:
    """The coded frames of a file, their total duration, and the pipeline that sends them."""

    units: tuple[AccessUnit, ...]
    seconds: float
    sender: str


def read_clip(file: str) -> Clip:
    """Return a file's clip. The last frame gets the average duration of the other frames."""
    caps, parser, payloader = CODECS[Path(file).suffix]
    units = tuple(read_units(file, READER.format(caps=caps, parser=parser)))
    if not units:
        raise SystemExit(f"no video in {file}")
    shown = sorted(unit.show_seconds for unit in units)
    seconds = (shown[-1] - shown[0]) * len(shown) / max(1, len(shown) - 1)
    return Clip(units, seconds, SENDER.format(caps=caps, parser=parser, payloader=payloader))


def read_units(file: str, reader: str) -> Iterator[AccessUnit]:
    """Yield the access units of a file's video."""
    pipeline = Gst.parse_launch(reader)
    pipeline.get_by_name("file").set_property("location", file)
    sink = pipeline.get_by_name("sink")
    pipeline.set_state(Gst.State.PLAYING)
    first = None
    while (sample := sink.emit("pull-sample")) is not None:
        buffer = sample.get_buffer()
        decoded = buffer.pts if buffer.dts == Gst.CLOCK_TIME_NONE else buffer.dts
        first = decoded if first is None else first
        decode_seconds = (decoded - first) / Gst.SECOND
        show_seconds = (buffer.pts - first) / Gst.SECOND
        yield AccessUnit(buffer.extract_dup(0, buffer.get_size()), decode_seconds, show_seconds)
    pipeline.set_state(Gst.State.NULL)


class Player:
    """Feeds one RTSP medium, frame by frame, at the pace of the clip."""

    def __init__(self, clip: Clip, source: Any, *, once: bool, on_end: Callable[[], None]) -> None:
        """Take the clip and the medium's ``appsrc``. Nothing is played yet."""
        self._clip = clip
        self._source = source
        self._once = once
        self._on_end = on_end
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._play, daemon=True)

    def start(self) -> None:
        """Start playing. Further calls have no effect."""
        if self._thread.ident is None:
            announce("playing")
            self._thread.start()

    def stop(self) -> None:
        """Stop playing at the current position."""
        self._stopped.set()

    def _play(self) -> None:
        started = time.monotonic()
        running = self._running_seconds()
        offset = 0.0
        while self._play_through(started, running, offset):
            offset += self._clip.seconds
            if self._once:
                self._source.emit("end-of-stream")
                self._on_end()
                return

    def _play_through(self, started: float, running: float, offset: float) -> bool:
        """Play the clip once. Return False if the medium was closed meanwhile."""
        for unit in self._clip.units:
            due = started + offset + unit.decode_seconds
            if self._stopped.wait(max(0.0, due - time.monotonic())):
                return False
            if not self._push(unit, running + offset):
                return False
        return True

    def _running_seconds(self) -> float:
        """Return the running time of the medium's pipeline, by the pipeline's clock."""
        clock = self._source.get_clock()
        if clock is None:
            return 0.0
        return float(max(0, clock.get_time() - self._source.get_base_time()) / Gst.SECOND)

    def _push(self, unit: AccessUnit, offset: float) -> bool:
        buffer = Gst.Buffer.new_wrapped(unit.data)
        buffer.pts = int((offset + unit.show_seconds) * Gst.SECOND)
        buffer.dts = int((offset + unit.decode_seconds) * Gst.SECOND)
        return bool(self._source.emit("push-buffer", buffer) == Gst.FlowReturn.OK)


class CameraFactory(GstRtspServer.RTSPMediaFactory):  # type: ignore[misc] # GStreamer is untyped
    """Creates the one medium that all clients share, as they share a camera's stream."""

    def __init__(self, clip: Clip, *, once: bool, on_end: Callable[[], None]) -> None:
        """Set the clip, how to play it, and the callback at its end."""
        super().__init__()
        self._clip = clip
        self._once = once
        self._on_end = on_end
        self.set_shared(True)
        self.set_latency(0)
        self.set_launch(clip.sender)

    def do_configure(self, media: Any) -> None:
        """Configure the medium. GStreamer calls this method when the first client connects."""
        GstRtspServer.RTSPMediaFactory.do_configure(self, media)
        source = media.get_element().get_by_name("source")
        player = Player(self._clip, source, once=self._once, on_end=self._on_end)
        # Before a client can play, the server reads the first frames to describe the stream.
        source.connect("need-data", lambda *_: player.start())
        media.connect("unprepared", lambda _: player.stop())


def announce(line: str) -> None:
    """Print a line for the test to read."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def protect(server: Any, factory: CameraFactory, user: str, password: str) -> None:
    """Require a password (RTSP basic authentication)."""
    auth = GstRtspServer.RTSPAuth()
    token = GstRtspServer.RTSPToken()
    token.set_string(GstRtspServer.RTSP_TOKEN_MEDIA_FACTORY_ROLE, "viewer")
    auth.add_basic(GstRtspServer.RTSPAuth.make_basic(user, password), token)
    server.set_auth(auth)
    may = "media.factory.access=(boolean)true,media.factory.construct=(boolean)true"
    factory.add_role_from_structure(Gst.Structure.new_from_string(f"viewer,{may}"))


def main() -> None:
    """Run the camera until the process is killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="+")
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--address", default="127.0.0.1")
    parser.add_argument("--user")
    parser.add_argument("--password")
    options = parser.parse_args()
    Gst.init(None)
    server = GstRtspServer.RTSPServer()
    server.set_address(options.address)
    server.set_service(str(options.port))
    mounts = server.get_mount_points()

    def on_end() -> None:
        mounts.remove_factory(PATH)
        announce("ended")

    for number, file in enumerate(options.files):
        factory = CameraFactory(read_clip(file), once=options.once, on_end=on_end)
        if options.user:
            protect(server, factory, options.user, options.password)
        mounts.add_factory(f"/{Path(file).stem}" if number else PATH, factory)
    server.attach(None)
    announce(f"listening {server.get_bound_port()}")
    GLib.MainLoop().run()


if __name__ == "__main__":
    main()
