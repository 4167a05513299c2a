"""Uses a private network as a client does that knows nothing of accounts: JetStream's usual prefix, the usual inbox, and
RelayX's request for the namespace. Prints one JSON object a line.

Use: unmodified.py URL CREDENTIALS publish|pull|push|find TOPIC COUNT"""
import asyncio
import json
import sys

import nats
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy


async def main():
    url, credentials, action, topic, count = sys.argv[1:]
    connection = await nats.connect(url, user_credentials=credentials, allow_reconnect=False)
    answer = await connection.request("accounts.user.get_namespace", json.dumps({"api_key": "-"}).encode(), timeout=10)
    names = json.loads(answer.data)["data"]
    stream, subject = names["namespace"] + "_stream", f"{names['hash']}.{topic}"
    jetstream = connection.jetstream(timeout=10)
    if action == "publish":
        for number in range(int(count)):
            headers = {"Nats-Msg-Id": f"id-{number}"}
            stored = await jetstream.publish(subject, f"{number}".encode(), headers=headers)
            print(json.dumps({"stream": stored.stream, "seq": stored.seq}), flush=True)
    elif action == "pull":
        # A consumer that deletes itself, read by pulling with acknowledgements.
        config = ConsumerConfig(
            name="unmodified", filter_subject=subject, deliver_policy=DeliverPolicy.ALL, ack_policy=AckPolicy.EXPLICIT,
            inactive_threshold=30)
        await jetstream.add_consumer(stream, config)
        subscription = await jetstream.pull_subscribe_bind(consumer="unmodified", stream=stream)
        seen = 0
        while seen < int(count):
            for message in await subscription.fetch(5, timeout=10):
                await message.ack_sync(timeout=10)
                print(json.dumps({"text": message.data.decode()}), flush=True)
                seen += 1
    elif action == "push":
        subscription = await jetstream.subscribe(
            subject, stream=stream, manual_ack=True,
            config=ConsumerConfig(deliver_policy=DeliverPolicy.ALL, ack_policy=AckPolicy.EXPLICIT))
        for _ in range(int(count)):
            message = await subscription.next_msg(timeout=10)
            await message.ack_sync(timeout=10)
            print(json.dumps({"text": message.data.decode()}), flush=True)
    elif action == "find":
        # As RelayX's history does: the stream is found by the subject.
        subscription = await jetstream.subscribe(
            subject, config=ConsumerConfig(deliver_policy=DeliverPolicy.ALL, ack_policy=AckPolicy.EXPLICIT))
        for _ in range(int(count)):
            message = await subscription.next_msg(timeout=10)
            print(json.dumps({"text": message.data.decode()}), flush=True)
    await connection.close()


asyncio.run(main())
