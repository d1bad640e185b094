"""``python -m ingest`` on a machine whose clock goes back by an hour once a file exists.

The file's path is the only argument.
"""

import sys
import time
from pathlib import Path
from typing import Final

_HOUR_SECONDS: Final = 3600


def _run() -> None:
    signal_file = Path(sys.argv[1])
    machine_time = time.time
    time.time = lambda: machine_time() - (_HOUR_SECONDS if signal_file.exists() else 0)
    # The import must follow, because the definition of the worker's clock reads time.time.
    from tests.services.tuned import main

    sys.argv = [sys.argv[0], "ingest"]
    main()


if __name__ == "__main__":
    _run()
