import Relay

/// README's example, line for line: a program there.
func sendAndFollow() async throws {
    let client = RelayClient(
        configuration: RelayConfiguration(
            servers: .fixed(try RelayConfiguration.addresses([CommandLine.arguments[1]])),
            credentials: try .file(CommandLine.arguments[2])))
    try await client.connect(timeLimit: 10)
    let receipt = try await client.send(topic: "chat.lobby", message: "hello from Swift")
    print("stored as number \(receipt.sequence)")

    for try await event in try await client.messages(topic: "chat.>", from: .recent(10)) {
        switch event {
        case .message(let message): print(message.from ?? "?", message.text, message.isRecovered ? "↺" : "")
        case .gap(let lost): print("\(lost) messages are no longer stored")
        case .live: print("up to date")
        case .unreadable, .restarted, .interrupted: break
        }
    }
}
