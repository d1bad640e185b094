"""Runs a module with changed constants, so that tests of processes need not wait.

Command: ``python -m tests.services.tuned MODULE``. ``TUNED`` in the environment has the values,
separated by spaces: ``streams.runtime.stage_runner.RETRY_SECONDS=1``.
"""

import os
import runpy
import sys
from importlib import import_module

VARIABLE = "TUNED"


def main() -> None:
    """Change the constants, and then run the module as ``__main__``."""
    for change in os.environ.get(VARIABLE, "").split():
        name, value = change.split("=")
        module_name, _, constant = name.rpartition(".")
        module = import_module(module_name)
        setattr(module, constant, type(getattr(module, constant))(value))
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
