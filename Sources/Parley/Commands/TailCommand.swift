import ArgumentParser
import NIOConcurrencyHelpers
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

    @Flag(help: "Print what was stored: each message's whole map, as JSON.")
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
            let printer = MessagePrinter(
                style: raw ? .raw : json ? .json : .text, limit: count, mayRepeat: topics.count > 1)
            var subscriptions: [TopicEvents] = []
            for topic in topics {
                subscriptions.append(try await client.messages(topic: topic, from: start, withPayload: raw))
            }
            try await client.whileInSession { [subscriptions] in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for events in subscriptions {
                        group.addTask {
                            var iterator = events.makeAsyncIterator()
                            while let batch = try await iterator.nextBatch(), printer.print(batch) {
                                // What only somebody else can mend ends the command; what passes is waited for.
                                if case .interrupted(let error, passes: false)? = batch.last { throw error }
                            }
                        }
                    }
                    // One topic that has printed the last message ends the others.
                    while try await group.next() != nil { if printer.isDone { group.cancelAll() } }
                }
            }
            await client.close()
        }
    }
}

/// Prints messages of several subscriptions, one after the other, each once.
final class MessagePrinter: Sendable {
    enum Style: Sendable { case text, json, raw }

    private struct State {
        var printed = 0
        /// The newest messages, where several subscriptions may bring the same one.
        var newest: Set<Place> = []
        var order: [Place] = []
    }

    /// A stream that is made anew gives its sequences again.
    private struct Place: Hashable {
        let sequence: UInt64
        let id: String
    }

    /// So many messages at most may come between the two times that overlapping patterns bring one.
    private static let remembered = 8_192
    /// Lines are written together until they have so many bytes.
    private static let longestWrite = 1 << 20
    private let style: Style
    private let limit: Int?
    private let mayRepeat: Bool
    private let state = NIOLockedValueBox(State())

    init(style: Style, limit: Int?, mayRepeat: Bool) {
        self.style = style
        self.limit = limit
        self.mayRepeat = mayRepeat
    }

    var isDone: Bool { state.withLockedValue { isDone($0) } }

    private func isDone(_ state: State) -> Bool { limit.map { state.printed >= $0 } ?? false }

    /// Prints events that have come together; false when nothing more is wanted.
    func print(_ events: [TopicEvent]) -> Bool {
        // The lock is held while they are written: lines of two subscriptions never mix.
        state.withLockedValue { state in
            var lines = ""
            for event in events where !isDone(state) {
                switch event {
                case .message(let message):
                    guard !mayRepeat || isNew(Place(sequence: message.sequence, id: message.id), &state) else {
                        continue
                    }
                    lines += line(message)
                    lines += "\n"
                    state.printed += 1
                    guard lines.utf8.count > Self.longestWrite else { continue }
                    Output.lines(lines)
                    lines = ""
                case .gap(let lost):
                    Output.lines(lines)
                    lines = ""
                    Output.complain("parley: \(lost) messages are no longer held by the network")
                case .unreadable(let sequence, let topic, let bytes):
                    Output.lines(lines)
                    lines = ""
                    Output.complain(
                        "parley: message \(sequence) of \(Output.safe(topic)), \(bytes) bytes, cannot be read")
                case .restarted:
                    Output.lines(lines)
                    lines = ""
                    Output.complain("parley: the network deleted its messages and began again; these are the new ones")
                case .interrupted(let error, passes: true):
                    Output.lines(lines)
                    lines = ""
                    Output.complain("parley: \(error.words) Trying again.")
                case .interrupted, .live: break
                }
            }
            Output.lines(lines)
            return !isDone(state)
        }
    }

    private func isNew(_ place: Place, _ state: inout State) -> Bool {
        guard state.newest.insert(place).inserted else { return false }
        state.order.append(place)
        if state.order.count >= Self.remembered * 2 {
            for old in state.order.prefix(Self.remembered) { state.newest.remove(old) }
            state.order.removeFirst(Self.remembered)
        }
        return true
    }

    private func line(_ message: TopicMessage) -> String {
        switch style {
        case .json: return JSONText.text(.map(message.json))
        case .raw: return JSONText.text(message.payload.map { MessageValue.map($0) } ?? message.message)
        case .text:
            let who = message.from.map { Output.safe($0) + ": " } ?? ""
            return "\(message.time.iso8601)  \(Output.safe(message.topic))  \(who)\(Output.safe(message.text))"
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
}
