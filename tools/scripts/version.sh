#!/bin/sh
# Says which version the commit is, from git's tags: what setuptools-scm finds by its settings in
# pyproject.toml, for who has no Python packages. Without git it is 0.
set -eu
cd "$(dirname "$0")/../.."
described=$(git describe --tags --long --abbrev=9 --match 'v[0-9]*' 2>/dev/null) ||
    described=v0-$(git rev-list --count HEAD 2>/dev/null)-g$(git rev-parse --short=9 HEAD) 2>/dev/null ||
    described=v0-0-g0
echo "$described" | sed -E 's/^v//; s/-0-g[0-9a-f]+$//; s/-([0-9]+)-(g[0-9a-f]+)$/.post1.dev\1+\2/'
