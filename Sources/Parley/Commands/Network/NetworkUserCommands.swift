import ArgumentParser
import Relay
import RelayNetwork

struct NetworkUserAddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Create a user, and write a credentials file with its own key.",
        discussion: """
            An existing user gets another key; earlier keys, and rights and expiry not given here, stay. Only the file \
            contains the secret: if it is lost, parley network key new makes another one.
            """)

    @OptionGroup var expiry: ExpiryOption

    @OptionGroup(title: "Rights") var rights: RightsOptions

    @Option(
        help: ArgumentHelp(
            "The credentials file; by default the one that --as uses on this machine.", valueName: "file"))
    var out: String?

    @OptionGroup var choice: NetworkChoice
    @Flag(help: "Print one JSON object.") var json = false
    @Argument(help: "The user's name.") var name: String

    func run() async throws {
        let end = expiry.end
        let directory = try choice.directory()
        let administrator = try choice.administrator()
        let credentials = try await administrator.add(
            user: name, rights: rights.change, expires: end, for: out == nil ? .identity : .file)
        let path = try out ?? directory.credentialsPath(for: UserName(name))
        let key = credentials.keyPair.publicKey.description
        if let out { try await administrator.write(credentials.fileText(), of: name, key: key, to: out) }
        choice.advise(about: name)
        let endText = end.map { Timestamp(seconds: $0).iso8601 }
        guard !json else {
            return Output.json([
                "user": .string(name), "publicKey": .string(key), "creds": .string(path),
                "expires": MessageValue(endText),
            ])
        }
        Output.line("\(name)  \(key)")
        Output.line("credentials in \(path)" + (endText.map { ", until \($0)" } ?? ""))
    }
}

struct NetworkUserListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List the network's users.")
    @OptionGroup var choice: NetworkChoice
    @Flag(help: "Print one JSON object a line.") var json = false

    func run() async throws {
        let users = try await choice.administrator().users()
        if json { return users.forEach { Output.json($0.json) } }
        let rows = users.map { user in
            let devices = user.devices.map { $0.isEmpty ? "" : "  \($0.count) connected" } ?? ""
            let end = user.endText.map { "  until \($0)" } ?? ""
            return [user.name.text, "\(user.standingText)  \(user.rights.words)\(end)\(devices)"]
        }
        for line in Output.table(rows) { Output.line(line) }
    }
}

struct NetworkUserShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show a user's standing, rights, expiry and connected devices.")
    @OptionGroup var choice: NetworkChoice
    @Flag(help: "Print one JSON object.") var json = false
    @Argument(help: "The user's name.") var name: String

    func run() async throws {
        guard let user = try await choice.administrator().users(named: name).first else { return }
        if json { return Output.json(user.json) }
        Output.line("\(user.name)  \(user.standingText)")
        Output.line("rights   \(user.rights.words)")
        Output.line("expires  \(user.endText ?? "never")")
        guard let devices = user.devices else { return Output.line("devices  the network does not run") }
        if devices.isEmpty { Output.line("devices  none connected") }
        for device in devices { Output.line("device   \(Output.safe(device.client)) from \(device.address)") }
    }
}

struct NetworkUserGrantCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "grant", abstract: "Change a user's rights; those not named stay.",
        discussion: "Named topics replace the earlier ones.")
    @OptionGroup(title: "Rights") var rights: RightsOptions
    @OptionGroup var why: ReasonOption
    @OptionGroup var options: AdministrationOptions

    func validate() throws {
        guard !rights.change.isEmpty else { throw ValidationError("Name the rights, such as --topics 'chat.>'.") }
    }

    func run() async throws {
        let administrator = try options.choice.administrator()
        try await administrator.grant(user: options.name, rights: rights.change, reason: why.reason)
        let granted = try await administrator.users(named: options.name).first?.rights
        options.report("grant", "\(options.name) may use \(granted?.words ?? "")")
    }
}

struct NetworkUserExpireCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "expire", abstract: "Set until when a user may use the network.",
        discussion: """
            An earlier date applies to all of the user's credentials. A later date, or never, needs a new file, by parley \
            network key new, since credentials cannot outlive the date written in them.
            """)
    @OptionGroup var why: ReasonOption
    @OptionGroup var options: AdministrationOptions
    @Argument(help: "A date such as 2030-01-31 or 2030-01-31T12:00:00Z, a duration such as 30d, now, or never.")
    var date: String

    func validate() throws {
        guard Self.end(date) != nil else {
            throw ValidationError("DATE is a date such as 2030-01-31, a duration such as 30d, now, or never.")
        }
    }

    /// The expiry in seconds since 1970, with an inner nil for never; nil if the text is invalid.
    private static func end(_ text: String) -> Int64?? {
        let seconds = WallClock.now.milliseconds / 1_000
        if text == "never" { return .some(nil) }
        if text == "now" { return seconds }
        if let length = PastTime.seconds(text) { return seconds + Int64(length) }
        let time = Timestamp(iso8601: text) ?? Timestamp(iso8601: text + "T00:00:00Z")
        return time.map { $0.milliseconds / 1_000 }
    }

    func run() async throws {
        guard let end = Self.end(date) else { return }
        try await options.choice.administrator().expire(user: options.name, at: end, reason: why.reason)
        options.report("expire", "\(options.name) may use the network \(NetworkUser.words(untilEnd: end))")
    }
}

extension NetworkUser {
    fileprivate var endText: String? { expires.map { Timestamp(seconds: $0).iso8601 } }

    fileprivate var standingText: String {
        if standing.banned != nil { return "banned" }
        if standing.deactivated != nil { return "deactivated" }
        let isOver = expires.map { Timestamp(seconds: $0) <= WallClock.now } ?? false
        return isOver ? "expired" : "active"
    }

    fileprivate var json: MessageMap {
        [
            "user": .string(name.text), "standing": .string(standingText),
            "topics": MessageValue(rights.subscribe), "expires": MessageValue(endText),
            "devices": devices.map { list in
                .array(list.map { .map(["name": .string($0.client), "address": .string($0.address)]) })
            } ?? .null, "rights": rights.json,
        ]
    }
}
