import ArgumentParser
import Relay

struct StoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store", abstract: "Inspect, compact and export the local store, and forget topics.",
        discussion: "It uses no network. The options name the user whose store it is.",
        subcommands: [
            StoreStatusCommand.self, StoreCompactCommand.self, StoreExportCommand.self, StoreForgetCommand.self,
        ])
}

struct StoreOptions: ParsableArguments {
    @OptionGroup var connection: ConnectionOptions

    @Flag(help: "Print JSON, one object a line.")
    var json = false

    /// Hands over the plan, the store's file, and the store; nil if there is none yet.
    func run(_ body: (ConnectionPlan, String, LocalStore?) async throws -> Void) async throws {
        let plan = try connection.plan()
        let path = try plan.storeFile()
        try await StoreAccess.use(path) { try await body(plan, path, $0) }
    }

    static func check(_ topic: String?, _ letters: Bool) throws {
        if letters == (topic != nil) { throw ValidationError("Name a topic, or the letters with --letters.") }
    }

    static func pattern(_ text: String) throws(RelayError) -> TopicPattern {
        do throws(TopicError) { return try TopicPattern(text) } catch { throw .invalidTopic("\(error)") }
    }
}

struct StoreStatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show where the local store is and how much it holds.")
    @OptionGroup var options: StoreOptions

    func run() async throws {
        try await options.run { _, path, store in
            let status = try await store?.status() ?? StoreStatus(path: path)
            if options.json {
                Output.json(Self.object(status, path: path))
            } else if store == nil {
                Output.line(Output.safe(StoreAccess.absence(path)))
            } else {
                for line in Self.lines(status, path: path) { Output.line(Output.safe(line)) }
            }
        }
    }

    static func object(_ status: StoreStatus, path: String) -> MessageMap {
        [
            "path": .string(path), "bytes": MessageValue(status.bytes), "messages": MessageValue(status.messages),
            "topics": MessageValue(status.topics), "oldest": MessageValue(status.oldest?.iso8601),
            "outbox": MessageValue(status.outbox),
        ]
    }

    static func lines(_ status: StoreStatus, path: String) -> [String] {
        let messages = Wording.count(status.messages, "message")
        let topics = Wording.count(status.topics, "topic")
        let oldest = status.oldest.map { ", the oldest from \($0.iso8601)" } ?? ""
        return [
            "\(path), \(Wording.count(status.bytes, "byte"))", "\(messages) of \(topics)\(oldest)",
            "\(Wording.count(status.letters, "letter")), \(Wording.grouped(status.outbox)) in the outbox",
        ]
    }
}

struct StoreCompactCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compact", abstract: "Delete what the configuration does not keep, and make the file smaller.",
        discussion: """
            The configuration's retention says what to keep; the default is a gibibyte of messages. It may run while a \
            chat is open.
            """)
    @OptionGroup var options: StoreOptions

    func run() async throws {
        try await options.run { plan, path, store in
            var (bytes, freed, deleted) = (0, 0, 0)
            if let store {
                let before = try await store.status()
                try await store.compact(plan.retention)
                let after = try await store.status()
                // Another program may add messages meanwhile.
                bytes = after.bytes
                freed = max(0, before.bytes - after.bytes)
                deleted = max(0, before.messages - after.messages)
            }
            if options.json {
                Output.json([
                    "path": .string(path), "bytes": MessageValue(bytes), "freed": MessageValue(freed),
                    "deleted": MessageValue(deleted),
                ])
            } else if store == nil {
                Output.line(Output.safe(StoreAccess.absence(path)))
            } else {
                Output.line("\(Wording.count(deleted, "message")) deleted")
                Output.line("the file shrank by \(Wording.count(freed, "byte")) to \(Wording.grouped(bytes))")
            }
        }
    }
}

struct StoreExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Print a topic's stored messages, or the letters, in the JSON format of tail.")
    @OptionGroup var options: StoreOptions
    @Flag(help: "The letters, received and sent, instead of a topic.") var letters = false
    @Argument(help: "The topic; * matches one token, > at the end the rest.") var topic: String?

    private static let part = 500

    func validate() throws { try StoreOptions.check(topic, letters) }

    func run() async throws {
        try await options.run { _, path, store in
            guard let topic else { return try await printLetters(store, path) }
            let pattern = try StoreOptions.pattern(topic)
            guard let store else { return Output.complain("parley: nothing is kept: \(StoreAccess.absence(path))") }
            let printer = MessagePrinter(style: .json, limit: nil)
            var last: KeptPlace?
            while true {
                let page = try await store.messages(of: pattern, after: last, limit: Self.part)
                guard let newest = page.messages.last else { break }
                last = newest.place
                _ = printer.print(page.messages.map(\.event))
                if page.isComplete { break }
            }
            if last == nil { Output.complain("parley: no messages of \(pattern) are stored here") }
        }
    }

    private func printLetters(_ store: LocalStore?, _ path: String) async throws {
        guard let store else { return Output.complain("parley: nothing is kept: \(StoreAccess.absence(path))") }
        var last: Int64 = 0
        while true {
            let part = try await store.letters(after: last, limit: Self.part)
            guard let end = part.last else { break }
            for letter in part.letters { Output.json(letter.json) }
            last = end
        }
        if last == 0 { Output.complain("parley: no letters are stored here") }
    }
}

struct StoreForgetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget", abstract: "Delete a topic's messages from this machine, and report how many.",
        discussion: """
            The network's copy and unsent messages stay. Single words may remain in the search index until parley store \
            compact. A damaged store that was put aside is not touched.
            """)
    @OptionGroup var options: StoreOptions
    @Flag(help: "All letters, received and sent, instead of a topic.") var letters = false
    @Argument(help: "The topic; * matches one token, > at the end the rest.") var topic: String?

    func validate() throws { try StoreOptions.check(topic, letters) }

    func run() async throws {
        try await options.run { _, _, store in
            guard let topic else {
                let count = try await store?.forgetLetters() ?? 0
                if options.json { return Output.json(["topic": .null, "forgotten": MessageValue(count)]) }
                return Output.line("\(Wording.count(count, "letter")) forgotten")
            }
            let pattern = try StoreOptions.pattern(topic)
            let count = try await store?.forget(pattern) ?? 0
            if options.json { return Output.json(["topic": .string(pattern.text), "forgotten": MessageValue(count)]) }
            Output.line("\(Wording.count(count, "message")) of \(pattern) forgotten")
        }
    }
}
