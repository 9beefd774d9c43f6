#!/bin/bash
# Makes server.properties of the variables KAFKA_<PROPERTY>, as apache/kafka does: `_` stands for `.`, `__` for `_`, `___` for `-`.
set -euo pipefail

: "${CLUSTER_ID:?set CLUSTER_ID: 16 bytes in base64url}"
properties=$(mktemp --directory)/server.properties

while IFS= read -r variable; do
  case $variable in
    KAFKA_HEAP_OPTS | KAFKA_OPTS) continue ;;
  esac
  name=${variable#KAFKA_}
  name=${name//___/-}
  name=${name//__/$'\n'}
  name=${name//_/.}
  name=${name//$'\n'/_}
  printf '%s=%s\n' "${name,,}" "${!variable}"
done < <(compgen -e KAFKA_) > "$properties"

# shellcheck disable=SC2206 # They are words.
options=(${KAFKA_HEAP_OPTS:--Xmx512m} ${KAFKA_OPTS:-} -Dlog4j2.configurationFile=/opt/kafka/log4j2.xml -cp '/opt/kafka/jars/*')
java "${options[@]}" kafka.tools.StorageTool format --ignore-formatted --cluster-id "$CLUSTER_ID" --config "$properties"
exec java "${options[@]}" kafka.Kafka "$properties"
