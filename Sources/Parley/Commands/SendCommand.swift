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
            "Seconds for the whole call, once the text is there; with --lines for connecting, and for each line from when "
                + "it is read.",
            valueName: "seconds"))
    var timeout: Double = 10

    @Option(
        help: "The message's identifier, so that a second try stores nothing twice; with --lines ID-1, ID-2, ….")
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
        do throws(TopicError) { _ = try Topic(topic) } catch { throw RelayError.invalidTopic("\(error)") }
        // Whoever pipes a text in may take any time for it.
        let body = try lines ? "" : text.map(TextInput.argument) ?? StandardInput.all()
        guard lines || !body.isEmpty else {
            throw CommandFailure(.badData, "There is nothing to send.")
        }
        let deadline = ContinuousClock.now + limit
        let connector = try Connector(connection.plan(), for: lines ? .lines(underWay: Self.window) : .work)
        let client = try await connect(connector, by: deadline)
        // A token names its user; until one arrives the user is not known.
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

    /// A connected client. Where there is none in time, nothing has been sent, and whoever repeats the call needs no
    /// identifier for it.
    private func connect(_ connector: Connector, by deadline: ContinuousClock.Instant) async throws -> RelayClient {
        let failure: CommandFailure
        do {
            return try await connector.connect(by: deadline)
        } catch RelayError.connection(.timeLimit(_, let cause)) {
            // The whole call's limit, of which the network's start may have left a part.
            failure = CommandFailure(RelayError.connection(.timeLimit(limit, after: cause)))
        } catch NetworkError.timedOut(let what) {
            failure = CommandFailure(NetworkError.timedOut(what))
        }
        throw CommandFailure(failure.code, failure.text + " Nothing was sent.")
    }

    /// So many lines are under way at most. The server is never without work while the oldest of them are seen to.
    private static let window = 2_000
    /// So many are waited for together.
    private static let part = 250

    /// Many lines at once, and yet in order: a bounded number is under way at any time.
    private nonisolated(nonsending) func sendLines(_ client: RelayClient, _ user: String) async throws {
        // Asked for once: a command's options are slow to read.
        let (topic, json, mayBeStored) = (topic, json, id != nil)
        // Lines are numbered in any case, so that the call can be repeated with all of them.
        let numbered = id ?? RelayClient.newID()
        var input = LineReader()
        var waiting: [PendingPublish] = []
        waiting.reserveCapacity(Self.window)
        var count = 0
        // The lines before a mistake are seen to their end all the same, and told.
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

    /// Waits for the end of the oldest lines. The newest of them is waited for first, since it mostly ends last: so the
    /// caller sleeps once and not for each.
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

    /// - Parameter id: the identifier to repeat the call with after a timeout.
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
