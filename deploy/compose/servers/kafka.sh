#!/bin/sh
# Starts Kafka. The first start formats the data folder with the user "platestream".
set -eu
home=${KAFKA_HOME:-/opt/kafka}
properties=$(dirname "$0")/kafka.properties
data=$(sed -n 's/^log.dirs=//p' "$properties")
CONTROLLER_PASSWORD=$(head -c 24 /dev/urandom | base64 | tr '+/' '-_')
export CONTROLLER_PASSWORD
# Its output would contain the SCRAM credentials.
test -e "$data/meta.properties" || "$home/bin/kafka-storage.sh" format \
    --cluster-id "$CLUSTER_ID" --config "$properties" \
    --add-scram "SCRAM-SHA-512=[name=platestream,iterations=8192,password=$KAFKA_PASSWORD]" \
    > /dev/null
exec "$home/bin/kafka-server-start.sh" "$properties"
