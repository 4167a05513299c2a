#!/usr/bin/env python3
"""An independent peer on Parley's wire: nats-py for the connection, msgpack for the payload.

It shares no code with Parley, so what the two agree on is the wire itself.

    peer.py SERVER publish
    peer.py SERVER history STREAM SUBJECT --count N

publish     reads JSON lines {"subject", "room", "message"} and prints one JSON line for each acknowledgement. Other
            keys of a line: "start_unit" ("ms" or "s", for the present time) and "binary" (true: the message travels as
            msgpack bin holding JSON).
history     prints one JSON line for each message that a stream holds, oldest first, its payload as msgpack decodes it.

Exit status: 0 done, 1 failed, 2 wrong usage.
"""
import argparse
import asyncio
import json
import sys
import time
import uuid

import msgpack
import nats
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy


def emit(record):
    print(json.dumps(record, ensure_ascii=False, default=repr), flush=True)


def payload_of(line, identifier):
    message = line["message"]
    if line.get("binary"):
        message = json.dumps(message, ensure_ascii=False).encode()
    unit = 1 if line.get("start_unit", "ms") == "s" else 1000
    fields = {"id": identifier, "room": line["room"], "message": message, "start": int(time.time() * unit)}
    return msgpack.packb(fields, use_bin_type=True)


async def publish(connection, options):
    stream = connection.jetstream()
    loop = asyncio.get_running_loop()
    while text := await loop.run_in_executor(None, sys.stdin.readline):
        if not text.strip():
            continue
        line = json.loads(text)
        identifier = str(uuid.uuid4())
        ack = await stream.publish(
            line["subject"], payload_of(line, identifier), headers={"Nats-Msg-Id": identifier}
        )
        emit({"id": identifier, "stream": ack.stream, "seq": ack.seq, "duplicate": bool(ack.duplicate)})


async def history(connection, options):
    config = ConsumerConfig(deliver_policy=DeliverPolicy.ALL, ack_policy=AckPolicy.NONE)
    subscription = await connection.jetstream().subscribe(
        options.subjects[1], stream=options.subjects[0], ordered_consumer=True, config=config
    )
    seen = 0
    async for message in subscription.messages:
        emit({"subject": message.subject, "payload": msgpack.unpackb(message.data)})
        seen += 1
        if seen == options.count:
            break


async def complain(problem):
    print(f"peer: {problem or type(problem).__name__}", file=sys.stderr, flush=True)


async def main():
    parser = argparse.ArgumentParser(description="An independent peer on Parley's wire.")
    parser.add_argument("server")
    parser.add_argument("--count", type=int)
    parser.add_argument("action", choices=["publish", "history"])
    parser.add_argument("subjects", nargs="*")
    options = parser.parse_intermixed_args()
    connection = await nats.connect(options.server, allow_reconnect=False, connect_timeout=5, error_cb=complain)
    try:
        await {"publish": publish, "history": history}[options.action](connection, options)
    finally:
        await connection.close()


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as failure:
        print(f"peer: {failure or type(failure).__name__}", file=sys.stderr)
        sys.exit(1)
