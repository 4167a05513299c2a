import ArgumentParser
import NIOConcurrencyHelpers
import Relay

struct TailCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tail", abstract: "Print messages as they arrive, each once and in order, through any outage.")

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var limit: ConnectTimeoutOption
    @OptionGroup var begin: SinceOption

    @Option(help: ArgumentHelp("Begin with this many of the newest messages, 1 to 10000.", valueName: "count"))
    var last: Int?

    @Option(help: "End after this many messages.")
    var count: Int?

    @OptionGroup var output: MessageStyleOptions

    @Argument(help: "Topics; * matches one token, > at the end the rest.")
    var topics: [String]

    func validate() throws {
        if let last, !(1...10_000).contains(last) { throw ValidationError("--last takes a number from 1 to 10000.") }
        if begin.since != nil, last != nil {
            throw ValidationError("--since and --last both say where to begin; use one.")
        }
        if let count, count < 1 { throw ValidationError("--count takes a number of 1 or more.") }
    }

    func run() async throws {
        let patterns = TopicPattern.withoutCovered(try topics.map(StoreOptions.pattern))
        var start = begin.start
        let connector = try Connector(limit.applied(to: connection.plan()), for: .presence)
        defer { connector.tokenCommand?.end() }
        let client = try await connector.connect(by: connector.connectTimeout.map { .now + $0 })
        if let last {
            do throws(RelayError) { start = try await client.newest(last, of: patterns.map(\.text)) } catch {
                throw client.explained(error)
            }
        }
        let printer = MessagePrinter(style: output.style, limit: count)
        var subscriptions: [TopicEvents] = []
        for pattern in patterns {
            subscriptions.append(try await client.messages(topic: pattern.text, from: start, withPayload: output.raw))
        }
        let mayRepeat = patterns.indices.contains { index in
            patterns[..<index].contains { $0.overlaps(patterns[index]) }
        }
        try await client.whileInSession { [subscriptions] in
            guard subscriptions.count == 1 else {
                let topics = MergedTopics(subscriptions: subscriptions, mayRepeat: mayRepeat)
                return try await topics.read { printer.print($0) }
            }
            // A single subscription needs no merging.
            var iterator = subscriptions[0].makeAsyncIterator()
            while let batch = try await iterator.nextBatch(), printer.print(batch) {}
        }
        await client.close()
        if let failure = printer.failure { throw failure }
    }
}

extension RelayClient {
    /// The start from which topics and patterns together have this many messages.
    fileprivate func newest(_ count: Int, of topics: [String]) async throws(RelayError) -> SubscriptionStart {
        var newest: Set<UInt64> = []
        for topic in topics {
            var (left, before) = (count, UInt64?.none)
            repeat {
                let part = try await history(topic: topic, before: before, limit: left)
                // The store may lack messages.
                if part.isOffline { throw .notConnected }
                newest.formUnion(part.messages.map(\.sequence))
                left -= part.messages.count
                before = part.messages.first?.sequence
                if part.isComplete { break }
            } while left > 0 && before != nil
        }
        return newest.count < count ? .all : .sequence(newest.sorted(by: >)[count - 1])
    }
}

final class MessagePrinter: Sendable {
    enum Style: Sendable { case text, json, raw }

    private struct State {
        var printed = 0
        var failure: RelayError?
    }

    /// Lines are collected up to this many bytes before they are written.
    private static let longestWrite = 1 << 20
    private let style: Style
    private let limit: Int?
    private let state = NIOLockedValueBox(State())

    init(style: Style, limit: Int?) {
        self.style = style
        self.limit = limit
    }

    /// A failure that does not pass without action, so that nothing more will arrive.
    var failure: RelayError? { state.withLockedValue(\.failure) }

    private func isDone(_ state: State) -> Bool { state.failure != nil || state.printed >= limit ?? .max }

    /// Prints a batch of events; returns false when no more are wanted or will arrive.
    func print(_ events: [TopicEvent]) -> Bool {
        state.withLockedValue { state in
            var lines: [UInt8] = []
            for event in events where !isDone(state) {
                let complaint: String
                switch event {
                case .message(let message):
                    append(message, to: &lines)
                    lines.append(UInt8(ascii: "\n"))
                    state.printed += 1
                    if lines.count > Self.longestWrite { Output.lines(&lines) }
                    continue
                case .live: continue
                case .interrupted(let error, passes: false):
                    state.failure = error
                    continue
                case .interrupted(let error, passes: true): complaint = "\(error.words) Trying again."
                case .gap(let lost): complaint = "the network no longer has \(lost) messages"
                case .unreadable(let sequence, let topic, let bytes):
                    complaint = "message \(sequence) of \(Output.safe(topic)), \(bytes) bytes, cannot be read"
                case .restarted:
                    complaint = "the network deleted or lost messages and began again; these are the new ones"
                }
                Output.lines(&lines)
                Output.complain("parley: " + complaint)
            }
            Output.lines(&lines)
            return !isDone(state)
        }
    }

    private func append(_ message: TopicMessage, to line: inout [UInt8]) {
        switch style {
        case .json: JSONText.append(.map(message.json), to: &line)
        case .raw: JSONText.append(message.payload.map { MessageValue.map($0) } ?? message.message, to: &line)
        case .text:
            line += message.time.iso8601.utf8
            line += "  ".utf8
            line += Output.safe(message.topic).utf8
            line += "  ".utf8
            if let from = message.from {
                line += Output.name(from).utf8
                line += ": ".utf8
            }
            line += Output.indented(message.shownText).utf8
        }
    }
}

extension TopicMessage {
    var json: MessageMap {
        [
            "seq": .integer(sequence), "topic": .string(topic), "id": .string(id), "from": MessageValue(from),
            "text": .string(text), "message": message, "time": .string(time.iso8601), "recovered": .bool(isRecovered),
        ]
    }
}
