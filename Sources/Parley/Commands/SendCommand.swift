import ArgumentParser
import Relay

/// `parley send`: publishes and returns when the network has stored it.
struct SendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send", abstract: "Publish a text, or standard input, and return when it is acknowledged.")

    @OptionGroup var connection: ConnectionOptions

    @Flag(help: "Each line of standard input is a message of its own.")
    var lines = false

    @Option(
        help: ArgumentHelp(
            "Seconds for the whole call; with --lines for connecting, and for each line from when it is read.",
            valueName: "seconds"))
    var timeout: Double = 10

    @Option(
        help: ArgumentHelp(
            "The message's identifier, so that a second try stores nothing twice; with --lines ID-1, ID-2, ….",
            valueName: "id"))
    var id: String?

    @Flag(help: "Print one JSON object for each message.")
    var json = false

    @Argument(help: "The topic.")
    var topic: String

    @Argument(help: "The text; standard input when it is left out.")
    var text: String?

    func validate() throws {
        guard timeout > 0, timeout < 1e9 else { throw ValidationError("--timeout takes seconds, more than 0.") }
        if lines, text != nil { throw ValidationError("--lines reads standard input, so it cannot be used with TEXT.") }
    }

    func run() async throws {
        try await reportingFailures {
            do throws(TopicError) { _ = try Topic(topic) } catch { throw RelayError.invalidTopic("\(error)") }
            let deadline = ContinuousClock.now + limit
            let connector = try Connector(connection.plan(), for: lines ? .lines(underWay: Self.window) : .work)
            let client = try await connector.connect(timeLimit: max(1, Int(timeout.rounded(.up))))
            // A token names its user; until one arrives the user is not known.
            let user = client.user ?? connector.user
            if lines {
                try await sendLines(client, user)
            } else {
                let body = text ?? StandardInput.all()
                guard !body.isEmpty else { throw CommandFailure(CommandFailure.badData, "There is nothing to send.") }
                let sent = try client.submitLine(
                    topic: topic, text: body, from: user, id: id, mayBeStored: id != nil)
                report(try await receipt(of: sent, over: client, within: max(.zero, deadline - .now)))
            }
            await client.close()
        }
    }

    private var limit: Duration { .seconds(timeout) }

    /// So many lines are under way at most. The server is never without work while the oldest of them are seen to.
    private static let window = 2_000
    /// So many are waited for together.
    private static let part = 250

    /// Many lines at once, and yet in order: a bounded number is under way at any time.
    private nonisolated(nonsending) func sendLines(_ client: RelayClient, _ user: String) async throws {
        // Asked for once: a command's options are slow to read.
        let (topic, id, limit, json) = (topic, id, limit, json)
        var input = LineReader()
        var waiting: [PendingPublish] = []
        waiting.reserveCapacity(Self.window)
        var count = 0
        while let lines = try input.next() {
            var rest = lines.filter { !$0.isEmpty }[...]
            while !rest.isEmpty {
                if waiting.count == Self.window {
                    try await finish(&waiting, Self.part, over: client, within: limit, json: json)
                }
                let next = rest.prefix(Self.window - waiting.count)
                rest = rest.dropFirst(next.count)
                try client.together { () throws(RelayError) in
                    for text in next {
                        count += 1
                        let numbered = id.map { "\($0)-\(count)" }
                        waiting.append(
                            try client.submitLine(
                                topic: topic, text: text, from: user, id: numbered, mayBeStored: numbered != nil))
                    }
                }
            }
        }
        while !waiting.isEmpty {
            try await finish(&waiting, min(Self.part, waiting.count), over: client, within: limit, json: json)
        }
    }

    /// Waits for the end of the oldest lines. The newest of them is waited for first, since it mostly ends last: so the
    /// caller sleeps once and not for each.
    private nonisolated(nonsending) func finish(
        _ waiting: inout [PendingPublish], _ count: Int, over client: RelayClient, within limit: Duration, json: Bool
    ) async throws {
        let deadline = ContinuousClock.now + limit
        let last: Result<PublishReceipt, any Error>
        do { last = .success(try await receipt(of: waiting[count - 1], over: client, within: limit)) } catch {
            last = .failure(error)
        }
        for sent in waiting[..<(count - 1)] {
            let receipt =
                if let now = try sent.receiptNow() { now } else {
                    try await receipt(of: sent, over: client, within: max(.zero, deadline - .now))
                }
            if json { report(receipt) }
        }
        let receipt = try last.get()
        if json { report(receipt) }
        waiting.removeFirst(count)
    }

    private nonisolated(nonsending) func receipt(
        of sent: PendingPublish, over client: RelayClient, within limit: Duration
    ) async throws -> PublishReceipt {
        do throws(RelayError) {
            return try await sent.receipt(within: limit)
        } catch .timeout {
            let again = id == nil ? "with --id \(sent.id)" : "with the same --id"
            throw CommandFailure(
                CommandFailure.notAcknowledged,
                "The message \(sent.id) was not acknowledged in time.\(client.status.hindrance) Try again \(again), and "
                    + "nothing is stored twice.")
        }
    }

    private func report(_ receipt: PublishReceipt) {
        guard json else { return }
        Output.json([
            "id": .string(receipt.id), "topic": .string(topic), "seq": .integer(receipt.sequence),
            "duplicate": .bool(receipt.isDuplicate),
        ])
    }
}
