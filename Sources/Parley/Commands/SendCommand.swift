import ArgumentParser
import Relay
import RelayNetwork

struct SendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send", abstract: "Publish a text, or standard input, and return when it is acknowledged.")

    @OptionGroup var connection: ConnectionOptions

    @Flag(help: "Each line of standard input is a message of its own.")
    var lines = false

    @Option(
        help: ArgumentHelp(
            "Seconds for the entire call, after the text was read; with --lines, for connecting and for each line.",
            valueName: "seconds"))
    var timeout: Double = 10

    @Option(
        help: "The message's identifier, so that a retry stores nothing twice; with --lines ID-1, ID-2, ….")
    var id: String?

    @Flag(help: "Print one JSON object for each message.")
    var json = false

    @Argument(help: "The topic.")
    var topic: String

    @Argument(help: "The text; standard input by default.")
    var text: String?

    func validate() throws {
        guard timeout > 0, timeout < 1e9 else { throw ValidationError("--timeout takes seconds, more than 0.") }
        if lines, text != nil { throw ValidationError("--lines reads standard input, so it cannot be used with TEXT.") }
    }

    func run() async throws {
        do throws(TopicError) { _ = try Topic(topic) } catch { throw RelayError.invalidTopic("\(error)") }
        // Reading a piped text may take any time, so the deadline starts after it.
        let body = try lines ? "" : text.map(TextInput.argument) ?? StandardInput.all()
        guard lines || !body.isEmpty else {
            throw CommandFailure(.badData, "There is nothing to send; pass TEXT or pipe it in.")
        }
        let deadline = ContinuousClock.now + limit
        let connector = try Connector(connection.plan(), for: lines ? .lines(underWay: Self.window) : .work)
        let client = try await connect(connector, by: deadline)
        // A token names its user, who is unknown until it arrives.
        let user = client.user ?? connector.user
        if lines {
            try await sendLines(client, user)
        } else {
            let sent = try await client.enqueueLine(
                topic: topic, text: body, from: user, id: id, mayBeStored: id != nil)
            report(try await receipt(of: sent, over: client, by: deadline, repeating: sent.id))
        }
        await client.close()
    }

    private var limit: Duration { .seconds(timeout) }

    /// A connected client. On a timeout, says that nothing was sent, so that a retry needs no identifier.
    private func connect(_ connector: Connector, by deadline: ContinuousClock.Instant) async throws -> RelayClient {
        let failure: CommandFailure
        do {
            return try await connector.connect(by: deadline)
        } catch RelayError.connection(.timeLimit(_, let cause)) {
            // The limit of the entire call, of which starting the network may have used a part.
            failure = CommandFailure(RelayError.connection(.timeLimit(limit, after: cause)))
        } catch NetworkError.timedOut(let what) {
            failure = CommandFailure(NetworkError.timedOut(what))
        }
        throw CommandFailure(failure.code, failure.text + " Nothing was sent.")
    }

    /// The most lines in flight, enough to keep the server busy while the oldest are awaited.
    private static let window = 2_000
    /// The number of lines awaited together.
    private static let part = 250

    /// Sends many lines in order, with a bounded number in flight.
    private nonisolated(nonsending) func sendLines(_ client: RelayClient, _ user: String) async throws {
        // Reading a command's options is slow.
        let (topic, json, mayBeStored) = (topic, json, id != nil)
        // Lines always get numbered identifiers, so that the entire call can be repeated.
        let numbered = id ?? RelayClient.newID()
        var input = LineReader()
        var waiting: [PendingPublish] = []
        waiting.reserveCapacity(Self.window)
        var count = 0
        // Lines before a mistake are still awaited and reported.
        var mistake: (any Error)?
        func nextLines() -> [String]? {
            guard mistake == nil else { return nil }
            do { return try input.next() } catch {
                mistake = error
                return nil
            }
        }
        while let lines = nextLines() {
            var rest = lines.filter { !$0.isEmpty }[...]
            while !rest.isEmpty, mistake == nil {
                if waiting.count == Self.window {
                    try await finish(&waiting, Self.part, over: client, repeating: numbered, json: json)
                }
                let next = rest.prefix(Self.window - waiting.count)
                rest = rest.dropFirst(next.count)
                let named = next.map { text in
                    count += 1
                    return (id: "\(numbered)-\(count)", text: text)
                }
                let (taken, refusal) = await client.enqueueLines(
                    topic: topic, named, from: user, mayBeStored: mayBeStored)
                waiting += taken
                if let refusal { mistake = refusal }
            }
        }
        while !waiting.isEmpty {
            try await finish(&waiting, min(Self.part, waiting.count), over: client, repeating: numbered, json: json)
        }
        if let mistake { throw mistake }
    }

    /// Waits for the oldest lines, the newest of them first: it usually ends last, so that the caller sleeps only once.
    private nonisolated(nonsending) func finish(
        _ waiting: inout [PendingPublish], _ count: Int, over client: RelayClient, repeating id: String, json: Bool
    ) async throws {
        let deadline = ContinuousClock.now + limit
        let last: Result<PublishReceipt, any Error>
        do {
            last = .success(try await receipt(of: waiting[count - 1], over: client, by: deadline, repeating: id))
        } catch { last = .failure(error) }
        for sent in waiting[..<(count - 1)] {
            let receipt =
                if let now = try sent.receiptNow() { now } else {
                    try await receipt(of: sent, over: client, by: deadline, repeating: id)
                }
            if json { report(receipt) }
        }
        let receipt = try last.get()
        if json { report(receipt) }
        waiting.removeFirst(count)
    }

    /// - Parameter id: the identifier to suggest for a retry after a timeout.
    private nonisolated(nonsending) func receipt(
        of sent: PendingPublish, over client: RelayClient, by deadline: ContinuousClock.Instant, repeating id: String
    ) async throws -> PublishReceipt {
        do throws(RelayError) {
            return try await sent.receipt(within: max(.zero, deadline - .now))
        } catch .timeout {
            throw CommandFailure(
                .notAcknowledged,
                "The message \(sent.id) was not acknowledged in time.\(client.status.hindrance) Try again "
                    + "\(self.id == nil ? "with --id \(id)" : "with the same --id"), and nothing is stored twice.")
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
