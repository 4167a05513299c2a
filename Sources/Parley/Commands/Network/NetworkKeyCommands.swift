import ArgumentParser
import Relay
import RelayNetwork

struct NetworkKeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key", abstract: "List, create and revoke a user's keys.",
        discussion: """
            Each credentials file, invitation and token of a user has a key of its own. The network does not store its \
            secret: a lost one is replaced by a new key.
            """,
        subcommands: [NetworkKeyListCommand.self, NetworkKeyNewCommand.self, NetworkKeyRevokeCommand.self])
}

struct NetworkKeyListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List a user's keys, including revoked ones.",
        discussion: """
            Last seen is what the running servers remember: a connection that is open now, or when the key's last one \
            ended. They forget it when they stop, and after very many other connections.
            """)
    @OptionGroup var choice: NetworkChoice
    @Flag(help: "Print one JSON object a line.") var json = false
    @Argument(help: "The user's name.") var name: String

    func run() async throws {
        let now = WallClock.now
        let keys = try await choice.administrator().keys(of: name)
        if json { return keys.forEach { Output.json($0.json(at: now)) } }
        guard !keys.isEmpty else { return Output.line("\(name) has no key") }
        let heading = ["KEY", "KIND", "MADE", "UNTIL", "RIGHTS", "LAST SEEN"]
        for line in Output.table([heading] + keys.map(\.columns)) { Output.line(line) }
    }
}

struct NetworkKeyNewCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "new", abstract: "Create a key for a user, and its credentials file.",
        discussion: "Only the file contains the secret. The user's other keys stay valid.")

    @OptionGroup var expiry: ExpiryOption

    @Option(
        help: ArgumentHelp(
            "The credentials file; by default the one that --as uses on this machine.", valueName: "file"))
    var out: String?

    @OptionGroup(title: "Rights, which are at most the user's") var rights: RightsOptions
    @OptionGroup var choice: NetworkChoice
    @Flag(help: "Print one JSON object.") var json = false
    @Argument(help: "The user's name.") var name: String

    func validate() throws {
        guard expiry.expires == nil || out != nil else { throw ValidationError("--expires goes with --out.") }
    }

    func run() async throws {
        let directory = try choice.directory()
        let administrator = try choice.administrator()
        let (key, credentials) = try await administrator.makeKey(
            of: name, for: out == nil ? .identity : .file, rights: rights.change, expires: expiry.end)
        if let out { try await administrator.write(credentials.fileText(), of: name, key: key.publicKey, to: out) }
        choice.advise(about: name)
        let file = try out ?? directory.credentialsPath(for: UserName(name))
        guard !json else {
            return Output.json(["user": .string(name), "key": .string(key.id), "file": .string(file)])
        }
        Output.line("key \(key.id) of \(name) in \(file), \(NetworkUser.words(untilEnd: key.expires))")
    }
}

struct NetworkKeyRevokeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke", abstract: "Revoke one or all of a user's keys for good.",
        discussion: """
            Its connections end at once and are told why, and no later change to the user makes it valid again. --all \
            includes the key that --as uses on this machine; it is not replaced automatically.
            """)
    @Flag(help: "Revoke all keys of the user.") var all = false
    @OptionGroup var why: ReasonOption
    @OptionGroup var choice: NetworkChoice
    @Flag(help: "Print one JSON object a line.") var json = false
    @Argument(help: "The user's name.") var name: String
    @Argument(help: "The key's id, as list shows it, or its beginning.") var key: String?

    func validate() throws {
        guard all == (key == nil) else { throw ValidationError("Name a key by its id, or --all.") }
    }

    func run() async throws {
        let administrator = try choice.administrator()
        let keys =
            if let key {
                [try await administrator.revoke(key: key, of: name, reason: why.reason)]
            } else {
                try await administrator.revokeAllKeys(of: name, reason: why.reason)
            }
        choice.advise(about: name)
        if keys.isEmpty { Output.complain("parley: \(name) has no key that holds; none was revoked") }
        for key in keys {
            if json {
                Output.json(["user": .string(name), "key": .string(key.id), "action": "revoked"])
            } else {
                let wasRevoked = key.revoked != nil
                Output.line("\(key.id) of \(name) " + (wasRevoked ? "was revoked already" : "is revoked for ever"))
            }
        }
    }
}

extension NetworkAdministrator {
    /// Writes credentials whose secret is stored nowhere else; revokes their key if the file cannot be written.
    func write(_ credentials: String, of user: String, key: String, to path: String) async throws {
        do throws(NetworkError) { try PrivateFile.write(credentials.utf8, to: path) } catch {
            _ = try? await revoke(key: key, of: user)
            throw error
        }
    }
}

extension NetworkKey {
    private static func text(_ seconds: Int64) -> String { Timestamp(seconds: seconds).iso8601 }

    fileprivate func json(at now: Timestamp) -> MessageMap {
        [
            "user": .string(user.text), "key": .string(key.id), "kind": .string(key.kind.rawValue),
            "created": .string(Self.text(key.created)), "expires": MessageValue(key.expires.map(Self.text)),
            "rights": rights.json, "lastSeen": MessageValue(lastSeen(at: now)),
            "revoked": MessageValue(key.revoked.map(Self.text)),
        ]
    }

    private func lastSeen(at now: Timestamp) -> String? {
        switch lastUse {
        case .connected?: now.iso8601
        case .ended(let time)?: Self.text(time)
        case nil: nil
        }
    }

    fileprivate var columns: [String] {
        let end = key.revoked.map { "revoked \(Self.text($0))" } ?? key.expires.map(Self.text) ?? "without end"
        let seen = lastUse == .connected ? "connected" : lastSeen(at: WallClock.now)
        return [key.id, key.kind.rawValue, Self.text(key.created), end, rights.words, seen ?? "-"]
    }
}
