import NIOCore

/// One connection as the server sees it, and what is to be sent over it.
struct MemoryLink: Sendable {
    let number: Int
    private(set) var isLoggedIn = false
    /// Whether its own messages come back to it.
    private(set) var isEchoed = true
    /// Whether it learns that a subject has no subscriber.
    private(set) var hearsOfNobody = false
    /// Whether it is to be closed.
    private(set) var isEnding = false
    private var isEndTaken = false
    private var output = ByteBuffer()

    init(number: Int) { self.number = number }

    /// The login has been accepted.
    mutating func loggedIn(_ fields: JSON) {
        isLoggedIn = true
        isEchoed = fields["echo"]?.boolValue ?? true
        hearsOfNobody = fields["no_responders"]?.boolValue == true && fields["headers"]?.boolValue == true
    }

    mutating func write(_ text: String) {
        if !isEnding { output.writeString(text) }
    }

    mutating func write(_ frame: MemoryFrame, number subscription: String) {
        guard !isEnding else { return }
        let reply = frame.reply.map { $0 + " " } ?? ""
        if frame.block.isEmpty {
            output.writeString("MSG \(frame.subject) \(subscription) \(reply)\(frame.payload.count)\r\n")
        } else {
            output.writeString(
                "HMSG \(frame.subject) \(subscription) \(reply)\(frame.block.count) \(frame.size)\r\n")
            output.writeBytes(frame.block)
        }
        output.writeBytes(frame.payload)
        output.writeString("\r\n")
    }

    /// Closes it behind what has been written.
    mutating func end() { isEnding = true }

    /// What has been written since it was last asked for; nil when there is nothing to do.
    mutating func takeOutput() -> MemoryBroker.Output? {
        let isLast = isEnding && !isEndTaken
        guard output.readableBytes > 0 || isLast else { return nil }
        let taken = output
        output = ByteBuffer()
        isEndTaken = isEndTaken || isLast
        return MemoryBroker.Output(link: number, bytes: taken, isLast: isLast)
    }
}
