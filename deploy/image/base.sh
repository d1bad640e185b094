#!/bin/sh
# Builds a base image for deploy/Dockerfile from Debian packages, with this machine's APT sources, for
# builds without an image registry. Requires root, mmdebstrap and buildah.
#
#   deploy/image/base.sh NAME
set -eu
name="$1"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

set -- /etc/apt/sources.list.d/debian.sources
test -e "$1" || set -- /etc/apt/sources.list
# usr-is-merged instead of usrmerge, which depends on perl (47 MB).
mmdebstrap --quiet --variant=minbase --mode=root \
    --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr \
    --include=usr-is-merged,python3.11,python3.11-venv,ca-certificates \
    --aptopt='Apt::Install-Recommends "false"' \
    --dpkgopt=path-exclude=/usr/share/doc/* --dpkgopt=path-include=/usr/share/doc/*/copyright \
    --dpkgopt=path-exclude=/usr/share/man/* --dpkgopt=path-exclude=/usr/share/locale/* \
    bookworm "$folder/base.tar" "$1"
container=$(buildah from scratch)
buildah add --quiet "$container" "$folder/base.tar" /
buildah commit --quiet --rm "$container" "$name"
