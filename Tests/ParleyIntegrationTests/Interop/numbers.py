"""Publishes numbered messages by nats-py alone, and repeats what was not acknowledged under the same identifier. Knows
nothing of what is done to its link.

Use: numbers.py URL CREDENTIALS TOPIC COUNT"""
import asyncio
import json
import sys

import nats


async def ignore(_):
    pass


async def main():
    url, credentials, topic, count = sys.argv[1:]
    connection = await nats.connect(
        url, user_credentials=credentials, allow_reconnect=True, max_reconnect_attempts=-1, reconnect_time_wait=0.1,
        connect_timeout=5, ping_interval=1, max_outstanding_pings=2, error_cb=ignore)
    names = None
    while names is None:
        try:
            answer = await connection.request(
                "accounts.user.get_namespace", json.dumps({"api_key": "-"}).encode(), timeout=2)
            names = json.loads(answer.data)["data"]
        except Exception:
            await asyncio.sleep(0.1)
    jetstream = connection.jetstream(timeout=2)
    for number in range(1, int(count) + 1):
        payload = json.dumps({"lab": "py", "n": number}).encode()
        while True:
            try:
                await jetstream.publish(
                    f"{names['hash']}.{topic}", payload, headers={"Nats-Msg-Id": f"{topic}-{number}"})
                break
            except Exception:
                await asyncio.sleep(0.1)
        await asyncio.sleep(0.02)
    await connection.close()


asyncio.run(main())
