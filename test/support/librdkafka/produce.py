"""Writes records to one partition with librdkafka, each in a batch of its own.

Usage: produce.py <brokers> <topic> <partition> <file>

The file has a record in each line, as JSON: name, packing (none, gzip, snappy, lz4, zstd), and key, value and headers in
base64. For each line, one of the output: the offset, or the error.
"""

import base64
import json
import sys

from confluent_kafka import KafkaException, Producer

LARGEST_BYTES = 9 * 1024 * 1024

brokers, topic, partition, path = sys.argv[1:]


def decoded(text):
    return None if text is None else base64.b64decode(text)


def producer(packing):
    return Producer(
        {
            "bootstrap.servers": brokers,
            "compression.type": packing,
            "message.max.bytes": LARGEST_BYTES,
            "message.timeout.ms": 20_000,
            "linger.ms": 0,
        }
    )


producers = {}
with open(path, encoding="utf-8") as lines:
    for line in lines:
        record = json.loads(line)
        packing = record["packing"]
        sender = producers.setdefault(packing, producer(packing))
        answers = []
        try:
            sender.produce(
                topic,
                partition=int(partition),
                key=decoded(record["key"]),
                value=decoded(record["value"]),
                headers=[(name, decoded(value)) for name, value in record["headers"]],
                on_delivery=lambda error, message: answers.append((error, message)),
            )
            sender.flush(30)
        except (BufferError, KafkaException) as error:
            answers.append((error, None))
        error, message = answers[0] if answers else ("no answer", None)
        answer = {"offset": message.offset()} if error is None else {"error": str(error)}
        print(json.dumps({"name": record["name"], **answer}), flush=True)
