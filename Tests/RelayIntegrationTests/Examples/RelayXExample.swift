import Relay

// The first example of the article "Connecting", word for word.

class ConnectedListener: MessageListener {
    func onMessage(_ message: Any) {
        print("Connected to Relay!")
    }
}

class ReconnectListener: MessageListener {
    func onMessage(_ message: Any) {
        if let state = message as? String {
            switch state {
            case SystemEvent.reconnecting.rawValue:
                print("Looks like we're not connected, attempting to reconnect to Relay...")
            case SystemEvent.reconnected.rawValue:
                print("Reconnected to Relay! :D")
            case SystemEvent.reconn_failed.rawValue:
                print("Failed to reconnect to Relay :(")
            default:
                break
            }
        }
    }
}

class DisconnectedListener: MessageListener {
    func onMessage(_ message: Any) {
        print("Connection to Relay closed")
    }
}

func chatAsRelayX(apiKey: String, secret: String, servers: [String]) async throws {
    // Checks key and secret; nothing is dialled.
    let realtime = try RelayClient(apiKey: apiKey, secret: secret)
    try realtime.prepare(staging: false, opts: ["debug": false, "servers": servers])

    let connectedListener = ConnectedListener()
    try await realtime.on(topic: SystemEvent.connected.rawValue, listener: connectedListener)
    let reconnectListener = ReconnectListener()
    try await realtime.on(topic: SystemEvent.reconnect.rawValue, listener: reconnectListener)
    let disconnectedListener = DisconnectedListener()
    try await realtime.on(topic: SystemEvent.disconnected.rawValue, listener: disconnectedListener)

    try await realtime.connect()
    try await realtime.publish(topic: "chat.lobby", message: ["text": "hello"])
    await realtime.close()
}
