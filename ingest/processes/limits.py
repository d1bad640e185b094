"""Limits the resources of processes that read untrusted data."""

import resource
from collections.abc import Mapping
from pathlib import Path


def limit_process(memory_bytes: int, others: Mapping[int, int]) -> None:
    """Limit this process's memory, and ``others`` (by ``RLIMIT_...``). Disable core dumps.

    Libraries reserve far more address space than they use, so the limit is the current reservation
    plus ``memory_bytes``. Call this after all libraries are imported.
    """
    reserved = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    own = {resource.RLIMIT_AS: reserved + memory_bytes, resource.RLIMIT_CORE: 0}
    for kind, limit in {**own, **others}.items():
        hard = resource.getrlimit(kind)[1]
        allowed = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(kind, (allowed, allowed))
