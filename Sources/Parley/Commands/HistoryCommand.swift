import ArgumentParser
import Relay

struct HistoryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history", abstract: "Print a range of a topic's messages, oldest first.")

    @OptionGroup var connection: ConnectionOptions

    @Option(help: ArgumentHelp("Start: all, a duration such as 15m, or an ISO 8601 time.", valueName: "time"))
    var start: String

    @Option(help: ArgumentHelp("End: a duration before now such as 5m, or an ISO 8601 time.", valueName: "time"))
    var end: String?

    @Option(help: ArgumentHelp("Most messages, 1 to 10000. (default: 1000)", valueName: "count"))
    var limit: Int?

    @OptionGroup var output: MessageStyleOptions

    @Argument(help: "The topic; * matches one token, > at the end the rest.")
    var topic: String

    func validate() throws {
        for text in [start, end].compactMap({ $0 }) where PastTime(text) == nil {
            throw ValidationError("A time is all, a duration such as 15m, or ISO 8601.")
        }
        guard (1...10_000).contains(limit ?? 1) else {
            throw ValidationError("--limit takes a number from 1 to 10000.")
        }
    }

    func run() async throws {
        _ = try StoreOptions.pattern(topic)
        try await connection.plan().connected { client in
            let (first, last) = (Self.time(start) ?? Timestamp(milliseconds: 0), end.flatMap(Self.time))
            let printer = MessagePrinter(style: output.style, limit: nil)
            var left = limit ?? 1_000
            var next: UInt64?
            repeat {
                let part = try await client.history(
                    topic: topic, start: first, end: last, limit: left, after: next, withPayload: output.raw,
                    bytes: Self.partBytes)
                // The store may lack messages, and the command promises all of them.
                if part.isOffline { throw RelayError.notConnected }
                let messages = part.messages.map { (place: $0.sequence, event: TopicEvent.message($0)) }
                let unreadable = part.unreadable.map { (place: $0.place.sequence, event: $0.event) }
                _ = printer.print((messages + unreadable).sorted { $0.place < $1.place }.map(\.event))
                left -= part.messages.count
                next = part.next
            } while next != nil && left > 0
            if let words = rest(left: left) { Output.complain(words) }
        }
    }

    /// The hint that there may be more; nil if the user gave the limit that was reached.
    func rest(left: Int) -> String? {
        guard limit == nil, left <= 0 else { return nil }
        return "parley: there may be later messages: raise --limit, or begin later with --start"
    }

    /// The bytes of each part. It is printed before the next is read, so that only one is in memory.
    private static let partBytes = 16 << 20

    private static func time(_ text: String) -> Timestamp? {
        guard case .at(let time) = PastTime(text) else { return nil }
        return time
    }
}
