"""A benchmark that measures nothing, while a runtime talks on standard output."""

import os

from recognition.settings import RecognizerPoolSettings
from recognition.variants import benchmark
from recognition.variants.choice import BenchmarkOutcome
from tests.unit.recognition.variants.test_choice import choice_of


def _chosen(_: RecognizerPoolSettings) -> BenchmarkOutcome:
    os.write(1, b"onednn_verbose,v1,info\n")
    return BenchmarkOutcome(choice_of("scripted"))


if __name__ == "__main__":
    benchmark.choose_once = _chosen  # type: ignore[assignment]
    benchmark.main()
