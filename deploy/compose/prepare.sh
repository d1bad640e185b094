#!/bin/sh
# Creates .env from .env.example and generates the empty secrets in it. Safe to repeat: existing values
# are not changed.
set -eu
cd "$(dirname "$0")"
umask 077
test -e .env || cp .env.example .env
chmod 600 .env
mkdir -p -m 755 camera-files

random() { # 32 bytes in URL-safe base64, the format of Fernet keys
    head -c 32 /dev/urandom | base64 | tr '+/' '-_'
}

for name in $(sed -nE 's/^([A-Z0-9_]*(PASSWORD|_KEY))=$/\1/p' .env); do
    secret=$(random)
    # The others are used in URLs: no padding.
    test "$name" = PLATESTREAM_SECRET_KEY || secret=${secret%=}
    sed -i "s|^$name=\$|$name=$secret|" .env
    echo "generated $name"
done
