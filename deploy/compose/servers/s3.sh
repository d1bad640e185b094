#!/bin/sh
# Writes the users of the S3 server to a folder in memory and starts it. Permissions: s3-policy.json.
set -eu
umask 077
user() {
    printf '"%s":{"access":"%s","secret":"%s","role":"user"}' "$1" "$1" "$2"
}
{
    printf '{"accessAccounts":{'
    user api "$S3_API_KEY"
    printf ','
    user ingest "$S3_INGEST_KEY"
    printf ','
    user reader "$S3_READER_KEY"
    printf ','
    user recognition "$S3_RECOGNITION_KEY"
    printf '}}\n'
} > "$VGW_IAM_DIR/users.json"
unset S3_API_KEY S3_INGEST_KEY S3_READER_KEY S3_RECOGNITION_KEY
exec "$@"
