#!/bin/sh
# KAFKA_ADVERTISED_HOST and KAFKA_ADVERTISED_PORT: where clients reach the published port 9092.
set -eu

home=/var/lib/kafka
cat > "$home/server.properties" <<PROPERTIES
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:9093
listeners=BROKER://0.0.0.0:9092,CONTROLLER://127.0.0.1:9093
advertised.listeners=BROKER://${KAFKA_ADVERTISED_HOST:-127.0.0.1}:${KAFKA_ADVERTISED_PORT:-9092}
listener.security.protocol.map=BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=BROKER
controller.listener.names=CONTROLLER
log.dirs=$home/records
default.replication.factor=1
min.insync.replicas=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
auto.create.topics.enable=false
message.max.bytes=16777216
replica.fetch.max.bytes=16777216
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
log.cleaner.dedupe.buffer.size=8388608
PROPERTIES

set -- -Xmx512m -XX:+UseSerialGC -Dlog4j2.configurationFile=/opt/kafka/log4j2.xml -cp '/opt/kafka/jars/*'
if [ ! -e "$home/records/meta.properties" ]; then
  # 16 bytes in base64url, as the format asks for.
  java "$@" kafka.tools.StorageTool format -t GaplessTestKafkaAAAAAA -c "$home/server.properties"
fi
exec java "$@" kafka.Kafka "$home/server.properties"
