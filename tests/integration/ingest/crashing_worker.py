"""``python -m ingest`` with capture processes that a stream can crash.

A stream with ``abort`` in its path aborts the process, as a bug in FFmpeg would. A stream with
``corrupt`` in its path does so once a file exists. The file's path is the only argument.
"""

import ctypes
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from common.urls.streams import StreamUrl
    from ingest.capture.camera_stream import CameraStream

PROGRAM_MODULE: Final = "tests.integration.ingest.crashing_worker"
_SIGNAL_FILE: Final = "PLATESTREAM_TEST_SIGNAL_FILE"


def _work(signal_file: str) -> None:
    from ingest.processes import process

    process.PROGRAM_MODULE = PROGRAM_MODULE
    process._ENVIRONMENT[_SIGNAL_FILE] = signal_file
    from ingest.app import main

    main()


def _capture() -> None:
    from ingest.capture import opening, reading
    from ingest.processes.program import main

    signal_file = Path(os.environ[_SIGNAL_FILE])

    def crash_on(url: "StreamUrl", *args: Any, **options: Any) -> "CameraStream":
        if "abort" in url.text or ("corrupt" in url.text and signal_file.exists()):
            # Wait until the other cameras of the process are running.
            time.sleep(1)
            ctypes.CDLL(None).abort()
        return opening.open_stream(url, *args, **options)

    vars(reading)["open_stream"] = crash_on
    main()


if __name__ == "__main__":
    if len(sys.argv) == 2:
        _work(sys.argv[1])
    else:
        _capture()
