"""Which frames of a stream are looked at, and when a frame of a recording is due."""

_EARLY_SHARE = 0.02
"""A frame this share of the interval before its time is taken: clocks of cameras jitter."""

_LONGEST_RUSH_SECONDS = 5.0
"""After so much of a stream its frames are taken as they come, rush or not."""

_SLIP_SECONDS = 1.0
"""A recording that is played more than this behind its time goes on from where it is."""


class Sampler:
    """Takes evenly spaced frames, by the stream's own time.

    The grid stays where it was when a frame comes late, so that 25 frames a second sampled at 5
    give every fifth frame, and uneven streams the right number.
    """

    def __init__(self) -> None:
        """Start with nothing taken: the first frame is."""
        self._due_seconds: float | None = None

    def takes(self, stream_seconds: float, frames_per_second: float) -> bool:
        """Return whether the frame at this time of its stream is one to look at."""
        interval = 1 / frames_per_second
        due = self._due_seconds
        # A stream that jumped, back or far ahead, starts a new grid.
        if due is None or abs(stream_seconds - due) > 2 * interval:
            due = stream_seconds
        if stream_seconds < due - _EARLY_SHARE * interval:
            self._due_seconds = due
            return False
        self._due_seconds = due + interval
        return True


class Pacer:
    """Plays a recording at the speed at which it was made."""

    def __init__(self) -> None:
        """Start with the clock of the first frame."""
        self._start_seconds: float | None = None

    def wait_seconds(self, stream_seconds: float, now_seconds: float) -> float:
        """Return how long (0 or more) the frame at ``stream_seconds`` has to wait.

        ``now_seconds`` is monotonic time. After a hold-up of more than a second the recording goes
        on at its normal speed instead of catching up in a rush.
        """
        if self._start_seconds is None:
            self._start_seconds = now_seconds - stream_seconds
        wait = self._start_seconds + stream_seconds - now_seconds
        if abs(wait) > _SLIP_SECONDS:
            self._start_seconds = now_seconds - stream_seconds
            return 0.0
        return max(0.0, wait)


class LiveEdge:
    """Finds the moment from which frames come as they are taken.

    Servers keep the last second or two, and FFmpeg reads about one to learn the format; both
    arrive in a rush when a connection opens. Those frames are past, and their capture times not
    known.
    """

    def __init__(self) -> None:
        """Start before the edge."""
        self._first_seconds: float | None = None
        self._stream_seconds = 0.0
        self._arrival_seconds = 0.0
        self._is_reached = False

    def reached(self, stream_seconds: float, arrival_seconds: float) -> bool:
        """Return whether this frame, or one before it, came at its own time."""
        if self._is_reached:
            return True
        if self._first_seconds is None:
            self._first_seconds = stream_seconds
        else:
            stream_gap = stream_seconds - self._stream_seconds
            arrival_gap = arrival_seconds - self._arrival_seconds
            self._is_reached = (
                arrival_gap >= stream_gap / 2
                or stream_seconds - self._first_seconds > _LONGEST_RUSH_SECONDS
            )
        self._stream_seconds, self._arrival_seconds = stream_seconds, arrival_seconds
        return self._is_reached
