import Relay

// The first example of the article "Connecting", word for word.

class ConnectionWatcher: MessageListener {
    func onMessage(_ message: Any) {
        switch message as? String {
        case SystemEvent.connected.rawValue: print("The first connection of this session is open.")
        case SystemEvent.reconnecting.rawValue: print("The connection broke; trying to bring it back.")
        case SystemEvent.reconnected.rawValue: print("It is back: subscriptions are live, the outbox is empty.")
        case SystemEvent.reconn_failed.rawValue: print("Two minutes were not enough.")
        case SystemEvent.disconnected.rawValue: print("The session is over.")
        default: break
        }
    }
}

func chatAsRelayX(apiKey: String, secret: String, servers: [String]) async throws {
    // Checks key and secret; nothing is dialled.
    let realtime = try RelayClient(apiKey: apiKey, secret: secret)
    try realtime.prepare(staging: false, opts: ["debug": false, "servers": servers])

    for event in [SystemEvent.connected, .reconnect, .disconnected] {
        try await realtime.on(topic: event.rawValue, listener: ConnectionWatcher())
    }

    try await realtime.connect()
    try await realtime.publish(topic: "chat.lobby", message: ["text": "hello"])
    await realtime.close()
}
