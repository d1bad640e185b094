"""Selects environment variables for child processes. A process that handles untrusted data only
gets the variables it needs.
"""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Final

from common.settings import SETTING_PREFIX, Fragment

# These are full names and not prefixes: HOME is needed, but not HOMEBREW_GITHUB_API_TOKEN.
_NEEDED_BY_ALL: Final = (
    *("PATH", "HOME", "USER", "LOGNAME", "TMPDIR"),
    *("LANG", "LANGUAGE", "LC_*", "TZ", "TZDIR"),
    *("LD_LIBRARY_PATH", "LD_PRELOAD", "GLIBC_TUNABLES", "MALLOC_*", "PYTHON*"),
)
# Proxy URLs often contain a password: http://user:password@proxy.example:3128.
_PROXIES: Final = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


def bare_environment(environment: Mapping[str, str], *others: str) -> dict[str, str]:
    """Return the basic variables, and those that match one of ``others`` (``*``: any suffix)."""
    wanted = (*_NEEDED_BY_ALL, *others)
    return {
        name: value
        for name, value in environment.items()
        if any(fnmatchcase(name, pattern) for pattern in wanted)
    }


def child_environment(environment: Mapping[str, str], *settings: type[Fragment]) -> dict[str, str]:
    """Return the settings of these classes, and all variables that are not settings of the service,
    because libraries read such variables.
    """
    others = {n: v for n, v in environment.items() if not n.upper().startswith(SETTING_PREFIX)}
    return {**others, **settings_within(environment, *settings)}


def settings_within(environment: Mapping[str, str], *settings: type[Fragment]) -> dict[str, str]:
    """Return the variables that these settings classes read."""
    names = {name for each in settings for name in each.environment_names()}
    # Names of settings are case-insensitive.
    return {name: value for name, value in environment.items() if name.upper() in names}


def proxies_without_login(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the proxy variables, except those with a user name or password."""
    return {
        name: value
        for name, value in environment.items()
        if name.upper() in _PROXIES and "@" not in value
    }
