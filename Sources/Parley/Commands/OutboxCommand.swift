import ArgumentParser
import Relay

struct OutboxCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "outbox", abstract: "List, send and drop unsent lines and letters.",
        discussion: """
            Lines and letters from a chat stay on this machine until the network has stored them; the next chat sends \
            them. Those refused or discarded wait for you. Those of a running chat are listed, but neither sent nor dropped \
            here.
            """,
        subcommands: [OutboxListCommand.self, OutboxSendCommand.self, OutboxDropCommand.self])
}

struct OutboxSelection: Equatable {
    /// Those that the command may send or drop, oldest first.
    var free: [KeptPublish] = []
    /// Those of a running program, which sends them itself.
    var held: [KeptPublish] = []

    /// - Parameters:
    ///   - living: the runs of programs that have not ended.
    ///   - ids: the messages to select; empty for all.
    /// - Throws: a `CommandFailure` for the first unknown id.
    init(_ kept: [KeptPublish], living: Set<String>, ids: [String]) throws(CommandFailure) {
        let known = Set(kept.map(\.message.id))
        if let missing = ids.first(where: { !known.contains($0) }) {
            throw CommandFailure(
                .badData,
                "There is no unsent message \(missing). parley outbox list shows them.")
        }
        let wanted = Set(ids)
        for publish in kept where wanted.isEmpty || wanted.contains(publish.message.id) {
            if publish.isHeld(by: living) { held.append(publish) } else { free.append(publish) }
        }
    }

    init(_ store: LocalStore?, ids: [String]) async throws {
        let kept = try await store?.outbox() ?? []
        let living = try await store?.livingRuns() ?? []
        try self.init(kept, living: living, ids: ids)
    }
}

extension KeptPublish {
    /// Whether a running program is going to send it.
    func isHeld(by living: Set<String>) -> Bool {
        if case .notSent = state { return false }
        return run.map(living.contains) ?? false
    }

    /// - Parameter outcome: what the command did with it; nil for nothing.
    func json(_ outcome: String? = nil) -> MessageMap {
        var map: MessageMap = ["id": .string(message.id), "topic": .null]
        switch message.destination {
        case .topic(let topic): map["topic"] = .string(topic)
        case .postbox(let user, let postbox): map["recipient"] = .string("\(user)/\(postbox)")
        case .key(let key): map["key"] = .string(key)
        }
        map["text"] = .string(text)
        switch state {
        case .queued: map["state"] = .string(outcome ?? "queued")
        case .sending: map["state"] = .string(outcome ?? "sending")
        case .notSent(let reason):
            map["state"] = .string(outcome ?? "notSent")
            map["reason"] = .string(reason)
        }
        map["since"] = .string(since.iso8601)
        map["mayBeStored"] = .bool(message.mayBeStored)
        return map
    }

    func line(_ outcome: String? = nil) -> String {
        let words =
            switch state {
            case .queued: "waits"
            case .sending: "waits, perhaps sent"
            case .notSent(let reason): "\(message.mayBeStored ? "perhaps sent" : "not sent"): \(reason)"
            }
        return Output.safe("\(message.id)  \(since.iso8601)  \(message.destination)  \(text)  (\(outcome ?? words))")
    }
}

struct OutboxListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Print unsent lines and letters, oldest first. It uses no network.")
    @OptionGroup var options: StoreOptions

    func run() async throws {
        try await options.run { _, path, store in
            guard let store else { return Output.complain("parley: nothing is unsent: \(StoreAccess.absence(path))") }
            let kept = try await store.outbox()
            let living = try await store.livingRuns()
            for publish in kept {
                let isHeld = publish.isHeld(by: living)
                if options.json {
                    Output.json(publish.json(), ["held": .bool(isHeld)])
                } else {
                    Output.line(publish.line(isHeld ? "waits in a chat that runs" : nil))
                }
            }
            if kept.isEmpty { Output.complain("parley: nothing is unsent") }
        }
    }
}

struct OutboxSendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send", abstract: "Send unsent lines and letters, and report the outcome of each.",
        discussion: """
            Each is sent in order and under its identifier, after a check for those that may be stored already, so that \
            nothing is stored twice. Those not acknowledged in time keep waiting, and the exit status is 75. Only a letter \
            with an unknown outcome may arrive twice.
            """)
    @OptionGroup var options: StoreOptions

    @Option(help: ArgumentHelp("Seconds for the entire call.", valueName: "seconds"))
    var timeout: Double = 10

    @Argument(help: "The identifiers of the messages to send; by default all.")
    var ids: [String] = []

    func validate() throws {
        guard timeout > 0, timeout < 1e9 else { throw ValidationError("--timeout takes seconds, more than 0.") }
    }

    func run() async throws {
        let deadline = ContinuousClock.now + .seconds(timeout)
        let plan = try options.connection.plan()
        var selection: OutboxSelection?
        try await StoreAccess.use(try plan.storeFile()) { selection = try await OutboxSelection($0, ids: ids) }
        guard let selection else { return }
        if !selection.free.isEmpty {
            let chosen = ids.isEmpty ? nil : Set(selection.free.map(\.message.id))
            let connector = try Connector(plan, for: .outbox(only: chosen))
            let client = try await connector.client()
            do {
                try await send(chosen, over: client, by: deadline)
                await client.close()
            } catch {
                connector.tokenCommand?.end()
                await client.close()
                throw connector.explained(error)
            }
        }
        guard !selection.held.isEmpty else { return }
        let count = Wording.count(selection.held.count, "message")
        let words = "\(count) in a running chat, which sends its messages itself."
        if !ids.isEmpty { throw CommandFailure(.notAcknowledged, words) }
        Output.complain("parley: \(words)")
    }

    private nonisolated(nonsending) func send(
        _ chosen: Set<String>?, over client: RelayClient, by deadline: ContinuousClock.Instant
    ) async throws {
        // Subscribed here, so that no outcome is missed.
        let (news, openings) = (client.publishes, client.storeOpenings)
        let kept = try await client.keptOutbox().filter { chosen?.contains($0.message.id) ?? true }
        for await opening in openings {
            if case .storage(let words)? = opening.error {
                throw CommandFailure(.cannotCreate, "The local store failed: \(words).")
            }
            break
        }
        try await client.connect(timeLimit: max(1, Int(timeout.rounded(.up))))
        var ends: [String: PublishNews] = [:]
        for publish in kept {
            guard case .notSent = publish.state else { continue }
            do throws(RelayError) { try await client.sendAgain(id: publish.message.id) } catch {
                ends[publish.message.id] = PublishNews(
                    id: publish.message.id, state: .failed(error), mayBeStored: publish.message.mayBeStored)
            }
        }
        let awaited = Set(kept.map(\.message.id)).subtracting(ends.keys)
        ends.merge(await Self.ends(of: awaited, news, by: deadline)) { $1 }
        try report(kept, ends, client.status)
    }

    /// The final states that these messages reached in time.
    private static func ends(
        of ids: Set<String>, _ news: AsyncStream<PublishNews>, by deadline: ContinuousClock.Instant
    ) async -> [String: PublishNews] {
        guard !ids.isEmpty else { return [:] }
        let listening = Task {
            var ends: [String: PublishNews] = [:]
            for await item in news where item.state.isFinal && ids.contains(item.id) {
                ends[item.id] = item
                if ends.count == ids.count { break }
            }
            return ends
        }
        let alarm = Task {
            try? await Task.sleep(until: deadline, clock: .continuous)
            listening.cancel()
        }
        defer { alarm.cancel() }
        return await withTaskCancellationHandler {
            await listening.value
        } onCancel: {
            listening.cancel()
        }
    }

    private func report(_ kept: [KeptPublish], _ ends: [String: PublishNews], _ status: ConnectionStatus) throws {
        var failure: CommandFailure?
        var waiting = 0
        for publish in kept {
            var (state, words) = ("queued", "not acknowledged; it goes on waiting")
            var more: [String: MessageValue] = [:]
            switch ends[publish.message.id]?.state {
            case .acknowledged(let sequence, _)?:
                (state, words) = ("sent", "sent")
                more["seq"] = .integer(sequence)
            case .failed(let error)?: failure = failure ?? CommandFailure(error)
            case .discarded(let reason)?: failure = failure ?? CommandFailure(.connection(reason))
            case .uncertain?: failure = failure ?? CommandFailure(.uncertain(publish.message.id))
            case .queued?, .sending?, nil: waiting += 1
            }
            if let news = ends[publish.message.id], let (verdict, reason) = news.givenUp {
                (state, words) = ("notSent", "\(verdict) sent: \(reason)")
                more = ["reason": .string(reason), "mayBeStored": .bool(news.mayBeStored)]
            }
            if options.json {
                var map = publish.json(state)
                map["reason"] = nil
                for (key, value) in more { map[key] = value }
                Output.json(map)
            } else {
                Output.line(publish.line(words))
            }
        }
        if let failure { throw failure }
        guard waiting > 0 else { return }
        if status.state == .disconnected, let reason = status.reason { throw RelayError.connection(reason) }
        throw CommandFailure(
            .notAcknowledged,
            "\(Wording.grouped(waiting)) of \(Wording.count(kept.count, "message")) not acknowledged in time."
                + status.hindrance + " Run the command again, and nothing is stored twice.")
    }
}

struct OutboxDropCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drop", abstract: "Discard unsent messages, and print them. It uses no network.")
    @OptionGroup var options: StoreOptions

    @Flag(help: "Drop all of them.")
    var all = false

    @Argument(help: "The identifiers of the messages to drop.")
    var ids: [String] = []

    func validate() throws {
        if ids.isEmpty != all { throw ValidationError("Name the messages to drop, or pass --all.") }
    }

    func run() async throws {
        try await options.run { _, _, store in
            let selection = try await OutboxSelection(store, ids: ids)
            let dropped = try await store?.dropFromOutbox(Set(selection.free.map(\.message.id))) ?? []
            for publish in selection.free where dropped.contains(publish.message.id) {
                if options.json { Output.json(publish.json("dropped")) } else { Output.line(publish.line("dropped")) }
            }
            let left = selection.held.count + selection.free.count - dropped.count
            guard left > 0 else { return }
            throw CommandFailure(
                .notAcknowledged,
                "\(Wording.count(left, "message")) in a chat that runs and is about to send what it has. End that chat "
                    + "first.")
        }
    }
}
