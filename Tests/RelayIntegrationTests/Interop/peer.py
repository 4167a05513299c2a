#!/usr/bin/env python3
"""An independent peer on Parley's wire: nats-py for the connection, msgpack for the payload.

It shares no code with Parley, so what the two agree on is the wire itself.

    peer.py SERVER [--creds FILE | --jwt FILE] [--inbox PREFIX] publish
    peer.py SERVER [...] subscribe SUBJECT ... [--count N]
    peer.py SERVER [...] history STREAM SUBJECT [--count N]

publish     reads JSON lines {"subject", "message", ...} and prints one JSON line for each acknowledgement. Other keys
            of a line: "id", "room", "client_id", "start" (a number as it is to be sent), "start_unit" ("ms" or "s", for
            the present time), "binary" (true: the message travels as msgpack bin holding JSON), "extra" (a map merged
            into the payload), "payload" (base64: sent as it is, in place of all that), "headers".
subscribe   prints READY, then one JSON line for each message, its payload as msgpack decodes it.
history     the same for what a stream holds, oldest first.

With --jwt, the nkey seed is read from the environment variable PEER_SEED. Exit status: 0 done, 1 failed, 2 wrong usage.
"""
import argparse
import asyncio
import base64
import json
import os
import sys
import time
import uuid

import msgpack
import nats
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy


def show(value):
    """A msgpack value as JSON can hold it: bin is {"$bin": base64}."""
    if isinstance(value, (bytes, bytearray)):
        return {"$bin": base64.b64encode(value).decode()}
    if isinstance(value, msgpack.ExtType):
        return {"$ext": value.code, "data": base64.b64encode(value.data).decode()}
    if isinstance(value, msgpack.Timestamp):
        return {"$timestamp": value.to_unix_nano()}
    if isinstance(value, list):
        return [show(item) for item in value]
    if isinstance(value, dict):
        return {key if isinstance(key, str) else json.dumps(show(key)): show(item) for key, item in value.items()}
    return value


def emit(record):
    print(json.dumps(record, ensure_ascii=False), flush=True)


def payload_of(line, identifier):
    if "payload" in line:
        return base64.b64decode(line["payload"])
    message = line["message"]
    if line.get("binary"):
        message = json.dumps(message, ensure_ascii=False).encode()
    unit = 1 if line.get("start_unit", "ms") == "s" else 1000
    fields = {
        "client_id": line.get("client_id"),
        "id": identifier,
        "room": line.get("room", line["subject"].split(".", 1)[-1]),
        "message": message,
        "start": line.get("start", int(time.time() * unit)),
    }
    if fields["client_id"] is None:
        del fields["client_id"]
    fields.update(line.get("extra", {}))
    return msgpack.packb(fields, use_bin_type=True)


async def publish(connection, options):
    stream = connection.jetstream(timeout=options.timeout)
    loop = asyncio.get_running_loop()
    while text := await loop.run_in_executor(None, sys.stdin.readline):
        if not text.strip():
            continue
        line = json.loads(text)
        identifier = line.get("id") or str(uuid.uuid4())
        headers = {"Nats-Msg-Id": identifier, **line.get("headers", {})}
        try:
            ack = await stream.publish(line["subject"], payload_of(line, identifier), headers=headers)
        except Exception as problem:  # every refusal is an answer that a test may want
            emit({"id": identifier, "error": str(problem) or type(problem).__name__})
            continue
        emit({"id": identifier, "stream": ack.stream, "seq": ack.seq, "duplicate": bool(ack.duplicate)})


def received(message):
    record = {"subject": message.subject, "headers": message.headers or {}}
    try:
        record["payload"] = show(msgpack.unpackb(message.data, raw=False, strict_map_key=False, timestamp=1))
    except Exception as problem:
        record["error"] = str(problem) or type(problem).__name__
    record["bytes"] = base64.b64encode(message.data).decode()
    return record


async def collect(subscriptions, count):
    seen = 0
    queue = asyncio.Queue(maxsize=1000)

    async def pump(subscription):
        async for message in subscription.messages:
            await queue.put(message)

    pumps = [asyncio.create_task(pump(subscription)) for subscription in subscriptions]
    while count is None or seen < count:
        emit(received(await queue.get()))
        seen += 1
    for task in pumps:
        task.cancel()


async def subscribe(connection, options):
    subscriptions = [await connection.subscribe(subject) for subject in options.subjects]
    await connection.flush()
    print("READY", flush=True)
    await collect(subscriptions, options.count)


async def history(connection, options):
    config = ConsumerConfig(deliver_policy=DeliverPolicy.ALL, ack_policy=AckPolicy.NONE)
    subscription = await connection.jetstream(timeout=options.timeout).subscribe(
        options.subjects[1], stream=options.subjects[0], ordered_consumer=True, config=config
    )
    print("READY", flush=True)
    await collect([subscription], options.count)


def authentication(options):
    if options.creds:
        return {"user_credentials": options.creds}
    if not options.jwt:
        return {}
    import nkeys

    seed = os.environ["PEER_SEED"].encode()
    with open(options.jwt, "rb") as file:
        jwt = file.read().strip()
    return {
        "user_jwt_cb": lambda: bytearray(jwt),
        "signature_cb": lambda nonce: base64.b64encode(nkeys.from_seed(bytearray(seed)).sign(nonce.encode())),
    }


async def complain(problem):
    print(f"peer: {problem or type(problem).__name__}", file=sys.stderr, flush=True)


async def main():
    parser = argparse.ArgumentParser(description="An independent peer on Parley's wire.")
    parser.add_argument("server")
    parser.add_argument("--creds")
    parser.add_argument("--jwt")
    parser.add_argument("--inbox", default="_INBOX")
    parser.add_argument("--timeout", type=float, default=5)
    parser.add_argument("--count", type=int)
    parser.add_argument("action", choices=["publish", "subscribe", "history"])
    parser.add_argument("subjects", nargs="*")
    options = parser.parse_intermixed_args()
    if options.action == "subscribe" and not options.subjects:
        parser.error("subscribe needs a subject")
    if options.action == "history" and len(options.subjects) != 2:
        parser.error("history needs a stream and a subject")
    connection = await nats.connect(
        options.server,
        inbox_prefix=options.inbox.encode(),
        allow_reconnect=False,
        connect_timeout=5,
        error_cb=complain,
        **authentication(options),
    )
    try:
        await {"publish": publish, "subscribe": subscribe, "history": history}[options.action](connection, options)
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
