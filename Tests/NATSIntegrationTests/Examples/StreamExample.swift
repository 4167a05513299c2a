import NATS
import NIOCore

/// An example of Documentation/Libraries.md, line for line: a program there.
func storeAndRead() async throws {
    let connection = try await NATSConnection.connect(to: ServerAddress(parsing: CommandLine.arguments[1]))
    let stream = JetStream(connection)
    try await stream.createStream(StreamConfiguration(name: "NOTES", subjects: ["notes.>"]))
    let stored = try await stream.publish(ByteBuffer(string: "hello"), to: "notes.first", messageID: "note-1")
    print("stored as number \(stored.sequence), again: \(stored.isDuplicate)")

    for try await message in try stream.orderedMessages(in: "NOTES") {
        print(message.subject, String(buffer: message.payload))
        if message.pending == 0 { break }
    }
    await connection.close()
}
