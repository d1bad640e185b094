"""Runs every benchmark and prints the tables: ``make bench``.

Copy the results to docs/benchmarks.md by hand, together with the machine and the date.
"""

import platform
import subprocess
import sys

_BENCHMARKS = (
    "recognition_models",
    "cameras",
    "api_cost",
    "queries",
    "sink",
    "alert_rules",
    "early_alerts",
    "deliveries",
)


def main() -> None:
    """Run all benchmarks in sequence, with default options."""
    print(f"{platform.platform()}, Python {platform.python_version()}")
    for name in _BENCHMARKS:
        print(f"\n== {name}", flush=True)
        subprocess.run((sys.executable, "-m", f"tools.benchmarks.{name}"), check=True)


if __name__ == "__main__":
    main()
