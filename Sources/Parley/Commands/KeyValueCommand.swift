import ArgumentParser
import Relay

struct KeyValueCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "kv", abstract: "Read, set, delete, list and watch the keys that all users of the network share.",
        discussion: """
            A key has letters, digits, and _ - = / . only. Its value is JSON: null is a value too.

            The exit status is 65 for a key without a value, and for one whose revision is not that of --revision: the \
            same command would meet the same conflict again, so read the key and decide anew. It is 75 when the network \
            has not answered in time, and the value may be stored even so.
            """,
        subcommands: [
            KeyValueGetCommand.self, KeyValuePutCommand.self, KeyValueDeleteCommand.self, KeyValuePurgeCommand.self,
            KeyValueKeysCommand.self, KeyValueWatchCommand.self, KeyValueHistoryCommand.self,
        ])
}

struct KeyValueOptions: ParsableArguments {
    @OptionGroup var connection: ConnectionOptions

    @Flag(help: "Print one JSON object for each key.")
    var json = false

    func run(_ body: (RelayClient) async throws -> Void) async throws {
        try await connection.plan().connected(body)
    }

    func write(_ change: KeyValueChange) {
        if json { Output.json(change.json) } else { Output.line(change.line) }
    }
}

extension StoredValue {
    var json: MessageMap { ["key": .string(key), "value": value, "revision": .integer(revision)] }
}

extension KeyValueChange {
    /// The object for scripts. A removed key has no `value`, which is not the same as null.
    var json: MessageMap { stored?.json ?? ["key": .string(key), "revision": .integer(revision)] }

    var line: String {
        let value = stored.map { JSONText.text($0.value) } ?? "removed"
        return "\(Output.safe(key))  \(revision)  \(value)"
    }
}

struct KeyValueGetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "get", abstract: "Print a key's value, as JSON.")
    @OptionGroup var options: KeyValueOptions
    @Argument(help: "The key.") var key: String

    func run() async throws {
        try await options.run { client in
            guard let stored = try await client.get(key: key) else { throw RelayError.notFound("The key \(key)") }
            if options.json { Output.json(stored.json) } else { Output.line(JSONText.text(stored.value)) }
        }
    }
}

struct KeyValuePutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "put", abstract: "Set a key, and return when the network has stored it.")
    @OptionGroup var options: KeyValueOptions

    @Option(help: "Set it only if this is its revision; 0 if it has no value. Otherwise the exit status is 65.")
    var revision: UInt64?

    @Flag(help: "The value is text, even if it looks like JSON.")
    var text = false

    @Argument(help: "The key.") var key: String

    @Argument(help: "The value: JSON, or else text; standard input by default.")
    var value: String?

    func run() async throws {
        try await options.run { client in
            let written = try value.map(TextInput.argument) ?? StandardInput.all()
            guard value != nil || !written.isEmpty else {
                throw CommandFailure(.badData, "There is nothing to store; pass VALUE or pipe it in.")
            }
            let stored: MessageValue = text ? .string(written) : MessageValue(typed: written)
            let number: UInt64? =
                if let revision {
                    try await client.put(key: key, value: stored, revision: revision)
                } else {
                    try await client.put(key: key, value: stored)
                }
            // Nil means that the call waits for a connection, which the command does not.
            guard let number else { throw RelayError.timeout("Setting the key \(key)") }
            guard options.json else { return Output.line("\(key)  \(number)") }
            Output.json(["key": .string(key), "value": stored, "revision": .integer(number)])
        }
    }
}

struct KeyValueDeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Delete a key. One without a value is left as it is.")
    @OptionGroup var options: KeyValueOptions

    @Option(help: "Delete it only if this is its revision. Otherwise the exit status is 65.")
    var revision: UInt64?

    @Argument(help: "The key.") var key: String

    func run() async throws {
        try await options.run { client in
            if let revision { return try await client.delete(key: key, revision: revision) }
            // As for put.
            guard try await client.delete(key: key) else { throw RelayError.timeout("Deleting the key \(key)") }
        }
    }
}

struct KeyValuePurgeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "purge", abstract: "Delete a key and its earlier values.")
    @OptionGroup var options: KeyValueOptions
    @Argument(help: "The key.") var key: String

    func run() async throws {
        try await options.run { try await $0.purge(key: key) }
    }
}

struct KeyValueHistoryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract:
            "Print the history of a key that the network still holds, oldest first. With --json, a removal has no value."
    )
    @OptionGroup var options: KeyValueOptions
    @Argument(help: "The key.") var key: String

    func run() async throws {
        try await options.run { client in
            for change in try await client.history(ofKey: key) { options.write(change) }
        }
    }
}

struct KeyValueKeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys", abstract: "Print the keys that have a value; with --json their values too.")
    @OptionGroup var options: KeyValueOptions

    @Argument(help: "Only keys that match: * is one part between dots, > at the end the rest.")
    var pattern: String = ">"

    func run() async throws {
        try await options.run { client in
            try await client.forEachValue(matching: pattern) { [json = options.json] stored in
                if json { Output.json(stored.json) } else { Output.line(Output.safe(stored.key)) }
            }
        }
    }
}

struct KeyValueWatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Print the present values, then each change, through any outage. With --json, a removal has no value."
    )
    @OptionGroup var options: KeyValueOptions

    @Option(help: "End after this many changes, including the present values.")
    var count: Int?

    @Argument(help: "The key, or a pattern as for keys.")
    var key: String = ">"

    func validate() throws {
        if let count, count < 1 { throw ValidationError("--count takes a number of 1 or more.") }
    }

    func run() async throws {
        try await options.run { client in
            let (pattern, limit, json) = (key, count, options.json)
            try await client.whileInSession {
                let events = try await client.watch(key: pattern)
                var printed = 0
                for try await event in events {
                    switch event {
                    case .change(let change):
                        if json { Output.json(change.json) } else { Output.line(change.line) }
                        printed += 1
                    case .live: break
                    case .restarted:
                        Output.complain("parley: the network deleted its keys and began again; these are the new ones")
                    case .interrupted(let error, passes: true): Output.complain("parley: \(error.words) Trying again.")
                    case .interrupted(let error, passes: false): throw error
                    }
                    if let limit, printed >= limit { break }
                }
            }
        }
    }
}
