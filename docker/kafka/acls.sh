#!/bin/sh
# Allows each stage of Gapless what it needs in Kafka, and nothing else. It can be run again at any time.
#
#   BROKERS=broker:9092 ./acls.sh --command-config admin.properties
#
# Further arguments go to kafka-acls.sh. Set, if yours are others:
#   PREFIX       the TOPIC_PREFIX of the installation (gapless)
#   PRINCIPAL    what a principal's name begins with (gapless-): the sequencer connects as gapless-sequencer, and so on;
#                gapless-cli is for the commands of the CLI, gapless-service for services that write to the inbox
#   KAFKA_ACLS   how to run Kafka's tool (kafka-acls.sh)
set -eu
: "${BROKERS:?set BROKERS to host:port of a broker}"
prefix=${PREFIX:-gapless}
principal=${PRINCIPAL:-gapless-}
version=v1

# allow <who, comma-separated> <operations, comma-separated> <resource arguments…>
allow() {
  arguments="--bootstrap-server $BROKERS $tool_arguments --add"
  for who in $(printf '%s' "$1" | tr ',' ' '); do arguments="$arguments --allow-principal User:$principal$who"; done
  for operation in $(printf '%s' "$2" | tr ',' ' '); do arguments="$arguments --operation $operation"; done
  shift 2
  # shellcheck disable=SC2086
  ${KAFKA_ACLS:-kafka-acls.sh} $arguments "$@"
}
tool_arguments=$*

topics() { for role in "$@"; do printf ' --topic %s.%s.%s' "$prefix" "$role" "$version"; done; }

# Every stage checks the topics and the installation, and looks where groups are.
stages=api,sequencer,dispatcher,projector,alerting,cli
allow $stages Describe,DescribeConfigs --topic "$prefix." --resource-pattern-type prefixed
allow $stages Describe --group "$prefix-" --resource-pattern-type prefixed
# shellcheck disable=SC2046
allow $stages Read $(topics installation)
# Groups that last for one look into a topic.
allow $stages Read,Delete --group gapless-reader- --resource-pattern-type prefixed

# The api creates the topics, so it is the first to start.
allow api Create,Alter,AlterConfigs --topic "$prefix." --resource-pattern-type prefixed
# shellcheck disable=SC2046
{
  allow api Write $(topics installation inbox attempts deliveries)

  allow sequencer Read $(topics inbox log sequences)
  allow sequencer Write $(topics log sequences dead-letter)
  allow sequencer Read --group "$prefix-sequencer"

  allow dispatcher Read $(topics log)
  allow dispatcher Read --group "$prefix-router"
  allow dispatcher Read,Write $(topics attempts attempts-slow deliveries)
  allow dispatcher Write $(topics dead-letter)
  allow dispatcher Read,Write --topic "$prefix.retry-" --resource-pattern-type prefixed
  allow dispatcher Read --group "$prefix-dispatcher" --resource-pattern-type prefixed

  allow projector Read $(topics log deliveries)
  allow projector Write $(topics dead-letter)
  allow projector Read --group "$prefix-projector" --resource-pattern-type prefixed

  # It looks in the staff alerts for those that a killed process may have written.
  allow alerting Read $(topics log staff-alerts)
  allow alerting Write $(topics inbox staff-alerts)
  allow alerting Read --group "$prefix-alerting"

  allow cli Read --topic "$prefix." --resource-pattern-type prefixed
  allow cli Read,Delete --group gapless-follower- --resource-pattern-type prefixed

  allow service Write,Describe $(topics inbox)
}
