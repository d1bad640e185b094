#!/bin/sh
# Pulls the servers' images and writes their digests to .env, so that every start runs the same
# images. After a version change in compose.yaml, remove the line from .env and run it again.
set -eu
cd "$(dirname "$0")"
test -e .env || { echo "run ./prepare.sh first" >&2; exit 1; }
sed -nE 's/.*image: \$\{([A-Z0-9_]+_IMAGE):-([^}]+)\}.*/\1 \2/p' compose.yaml | while read -r name image; do
    if grep -q "^$name=" .env; then
        echo "$name is already in .env"
        continue
    fi
    docker pull --quiet "$image" > /dev/null
    digest=$(docker image inspect --format '{{index .RepoDigests 0}}' "$image")
    echo "$name=$image@${digest##*@}" >> .env
    echo "$name=$image@${digest##*@}"
done
