import ArgumentParser
import Relay

/// `parley tail`: prints messages as they come, through any outage.
struct TailCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tail", abstract: "Print messages as they come, each once and in order, through any outage.")

    @OptionGroup var connection: ConnectionOptions

    @Option(help: ArgumentHelp("Begin earlier: all, a length such as 15m, or an ISO 8601 time.", valueName: "since"))
    var since: String?

    @Option(help: ArgumentHelp("End after this many messages.", valueName: "count"))
    var count: Int?

    @Flag(help: "Print each message whole, as JSON.")
    var raw = false

    @Flag(help: "Print one JSON object for each message.")
    var json = false

    @Argument(help: "Topics; * stands for one token, > at the end for the rest.")
    var topics: [String]

    func validate() throws {
        if let since, PastTime(since) == nil {
            throw ValidationError("--since takes all, a length such as 15m, or an ISO 8601 time.")
        }
        if let count, count < 1 { throw ValidationError("--count takes a number of 1 or more.") }
    }

    func run() async throws {
        try await reportingFailures {
            for topic in topics {
                do throws(TopicError) { _ = try TopicPattern(topic) } catch {
                    throw RelayError.invalidTopic("\(error)")
                }
            }
            let start: SubscriptionStart
            switch since.flatMap({ PastTime($0) }) {
            case nil: start = .new
            case .all: start = .all
            case .at(let time): start = .time(time)
            }
            let connector = try Connector(connection.plan(), for: .presence)
            defer { connector.tokenCommand?.end() }
            let client = try await connector.connect()
            let printer = MessagePrinter(style: raw ? .raw : json ? .json : .text, limit: count)
            var subscriptions: [TopicEvents] = []
            for topic in topics { subscriptions.append(try await client.messages(topic: topic, from: start)) }
            try await client.whileInSession { [subscriptions] in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for events in subscriptions {
                        group.addTask {
                            for try await event in events where await !printer.print(event) { return }
                        }
                    }
                    // One topic that has printed the last message ends the others.
                    while try await group.next() != nil { if await printer.isDone { group.cancelAll() } }
                }
            }
            await client.close()
        }
    }
}

/// Prints messages of several subscriptions, one after the other, each once.
actor MessagePrinter {
    enum Style: Sendable { case text, json, raw }

    private let style: Style
    private let limit: Int?
    private var printed = 0
    private var newest: [UInt64] = []

    init(style: Style, limit: Int?) {
        self.style = style
        self.limit = limit
    }

    var isDone: Bool { limit.map { printed >= $0 } ?? false }

    /// Prints an event; false when nothing more is wanted.
    func print(_ event: TopicEvent) -> Bool {
        guard !isDone else { return false }
        switch event {
        case .message(let message):
            // Patterns that overlap bring the same message twice, close together.
            guard !newest.contains(message.sequence) else { return true }
            newest.append(message.sequence)
            if newest.count > 256 { newest.removeFirst(128) }
            write(message)
            printed += 1
        case .gap(let lost): Output.complain("parley: \(lost) messages are no longer held by the network")
        case .unreadable(let sequence, let topic, let bytes):
            Output.complain("parley: message \(sequence) of \(Output.safe(topic)), \(bytes) bytes, cannot be read")
        case .live: break
        }
        return !isDone
    }

    private func write(_ message: TopicMessage) {
        switch style {
        case .json: Output.json(message.json)
        case .raw: Output.json(message.raw)
        case .text:
            let who = message.from.map { Output.safe($0) + ": " } ?? ""
            Output.line("\(message.time.iso8601)  \(Output.safe(message.topic))  \(who)\(Output.safe(message.text))")
        }
    }
}

extension TopicMessage {
    /// The object that scripts read.
    var json: MessageMap {
        [
            "seq": .integer(sequence), "topic": .string(topic), "id": .string(id), "from": MessageValue(from),
            "text": .string(text), "message": message, "time": .string(time.iso8601), "recovered": .bool(isRecovered),
        ]
    }

    /// The message as it travelled, with its place and time.
    var raw: MessageMap {
        [
            "seq": .integer(sequence), "id": .string(id), "room": .string(topic), "message": message,
            "start": .int(sentAt.milliseconds),
        ]
    }
}
