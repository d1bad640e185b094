#!/bin/sh
# Makes .env of .env.example and fills in the secrets that are empty there. Safe to repeat: what is
# set stays.
set -eu
cd "$(dirname "$0")"
umask 077
test -e .env || cp .env.example .env
chmod 600 .env
mkdir -p -m 755 camera-files

random() { # 32 bytes, in URL-safe base64 as Fernet keys are
    head -c 32 /dev/urandom | base64 | tr '+/' '-_'
}

for name in $(sed -nE 's/^([A-Z0-9_]*(PASSWORD|_KEY))=$/\1/p' .env); do
    secret=$(random)
    # Elsewhere it stands in addresses: no padding.
    test "$name" = PLATESTREAM_SECRET_KEY || secret=${secret%=}
    sed -i "s|^$name=\$|$name=$secret|" .env
    echo "made $name"
done
