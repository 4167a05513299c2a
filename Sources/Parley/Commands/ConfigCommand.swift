import ArgumentParser
import JSON5
import Platform
import Relay

struct ConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config", abstract: "Find, check and explain the configuration file.",
        discussion: "It uses no network.",
        subcommands: [
            ConfigPathCommand.self, ConfigCheckCommand.self, ConfigDefaultsCommand.self, ConfigShowCommand.self,
        ])
}

struct ConfigPathCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "path", abstract: "Print where the configuration file is, or would be.")

    @OptionGroup var connection: ConnectionOptions
    @Flag(help: "Print a JSON object.") var json = false

    func run() throws {
        let path = ConfigurationFile.place(flag: connection.config, ProcessInfo.processInfo.environment).path
        guard json else { return Output.line(Output.safe(path)) }
        Output.json(["path": .string(path), "exists": .bool(FileManager.default.fileExists(atPath: path))])
    }
}

struct ConfigCheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check the configuration file and the files that it names, and report the first mistake.",
        discussion: "The exit status is 78 if there is a mistake.")

    @OptionGroup var connection: ConnectionOptions
    @Flag(help: "Print a JSON object.") var json = false

    func run() throws {
        let source = try ConfigurationSource(flag: connection.config, ProcessInfo.processInfo.environment)
        // Throws for an unknown profile.
        for name in connection.profiles { _ = try source.file.profile(name) }
        try source.checkFiles(ProcessInfo.processInfo.environment)
        let (path, isNamed) = ConfigurationFile.place(flag: connection.config, ProcessInfo.processInfo.environment)
        if !isNamed, path.hasSuffix(".json"), FileManager.default.fileExists(atPath: path + "5") {
            Output.complain("parley: \(Output.safe(path))5 is not read, because \(Output.safe(path)) is there")
        }
        if json {
            Output.json([
                "path": .string(source.path), "exists": .bool(source.outline != nil),
                "profiles": MessageValue(source.file.profiles.keys.sorted()),
            ])
        } else if source.outline == nil {
            Output.line("There is no file at \(Output.safe(source.path)), and none is needed.")
        } else {
            Output.line("\(Output.safe(source.path)) is well: \(Wording.count(source.file.profiles.count, "profile")).")
        }
    }
}

struct ConfigDefaultsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "defaults", abstract: "Print a configuration file that changes nothing and explains each setting.")

    @OptionGroup var connection: ConnectionOptions

    func run() throws { Output.line(DefaultConfiguration.text) }
}

struct ConfigShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Print the effective settings and their sources.",
        discussion: "What may hold a secret is printed as …")

    @OptionGroup var connection: ConnectionOptions
    @Flag(help: "Print one JSON object for each setting.") var json = false

    func run() throws {
        for row in try EffectiveSettings.rows(connection, ProcessInfo.processInfo.environment) {
            if json { Output.json(row.json) } else { Output.line(row.line) }
        }
    }
}

/// The effective settings: the file, the environment and the flags taken together.
enum EffectiveSettings {
    struct Row: Hashable, Sendable {
        let name: String
        let value: MessageValue
        /// A flag, a variable, or a place in the file; nil for a default.
        let source: String?

        var json: MessageMap { ["setting": .string(name), "value": value, "source": MessageValue(source)] }

        var line: String {
            let text = "\(name): \(JSONText.text(value)),"
            let gap = String(repeating: " ", count: max(1, 40 - text.count))
            return Output.safe(text + gap + "// " + (source ?? "not said"))
        }
    }

    /// Replaces a value that may be secret.
    private static let hidden = MessageValue.string("…")

    /// All settings, the profile's first.
    static func rows(_ options: ConnectionOptions, _ environment: [String: String]) throws -> [Row] {
        let source = try ConfigurationSource(flag: options.config, environment)
        let profile = try options.effectiveProfile(environment)
        let name = options.profile ?? "default"
        let flags = flags(options, environment)
        /// The first of these places that is in the file.
        func place(_ paths: [String]...) -> String? {
            guard let outline = source.outline, let path = paths.first(where: { outline.holds($0) }) else { return nil }
            return "\(source.path):\(outline.place(of: path.map { PathKey($0) }))"
        }
        /// The place of a setting in the profile, or else at the top level.
        func ofProfile(_ key: String) -> String? { place(["profiles", name, key], [key]) }
        let profiled = Profile.CodingKeys.allCases.filter { $0 != .tokenCommandInSnakeCase }.map { key -> Row in
            if let flag = flags[key] {
                return Row(name: key.rawValue, value: flag.value ?? value(key, profile), source: flag.name)
            }
            let found = ofProfile(key.rawValue) ?? (key == .tokenCommand ? ofProfile("token_command") : nil)
            return Row(name: key.rawValue, value: value(key, profile), source: found)
        }
        func row(_ path: String..., value: MessageValue) -> Row {
            Row(name: path.joined(separator: "."), value: value, source: place(path))
        }
        let beside = ConfigurationFile.CodingKeys.allCases.flatMap { key -> [Row] in
            switch key {
            case .links: [row(key.rawValue, value: .string(source.file.links.rawValue))]
            case .layout:
                [
                    row(
                        key.rawValue, LayoutSetting.CodingKeys.sidebar.rawValue,
                        value: MessageValue(source.file.layout.sidebar))
                ]
            case .keys:
                (source.file.keys?.changes ?? []).map { change in
                    row(key.rawValue, change.name, value: MessageValue(change.sequences.map(\.label)))
                }
            // Listed with the profile.
            case .profiles, .retention, .theme, .symbols, .join, .mutes, .highlights, .bell, .notifications, .typing,
                .idleAfter, .followUnread, .followLetters:
                []
            }
        }
        return profiled + beside
    }

    /// The settings overridden by a flag or variable: its name, and the value if the profile does not contain it.
    private static func flags(
        _ options: ConnectionOptions, _ environment: [String: String]
    ) -> [Profile.CodingKeys: (name: String, value: MessageValue?)] {
        var flags: [Profile.CodingKeys: (name: String, value: MessageValue?)] = [:]
        for (name, isGiven) in [("--server", !options.server.isEmpty), ("--as", options.user != nil)] where isGiven {
            for key in [.servers, .user, .tokenCommand] as [Profile.CodingKeys] { flags[key] = (name, nil) }
        }
        if let proxy = options.proxy { flags[.proxy] = ("--proxy", .string(proxy)) }
        if let creds = options.creds {
            flags[.creds] = ("--creds", .string(creds))
        } else if let name = ["PARLEY_API_KEY", "PARLEY_SECRET", "PARLEY_TOKEN"].first(where: { environment[$0] != nil }
        ) {
            flags[.creds] = (name, hidden)
        }
        return flags
    }

    /// A profile's value, or else the default.
    private static func value(_ key: Profile.CodingKeys, _ profile: Profile) -> MessageValue {
        switch key {
        case .servers: MessageValue(profile.servers.map { $0.contains("@") ? "…" : $0 })
        case .creds: MessageValue(profile.creds)
        case .user: MessageValue(profile.user)
        case .reconnect: .string(profile.reconnect ?? "parley")
        case .connectTimeout: profile.connectTimeout.map { number($0) } ?? .null
        case .suspendAfter: number(profile.suspendAfter ?? 120)
        case .handleAppLifecycle: .bool(profile.handleAppLifecycle ?? true)
        case .namespace: MessageValue(profile.namespace)
        case .hash: MessageValue(profile.hash)
        case .api: MessageValue(profile.api)
        case .tlsAuthority: MessageValue(profile.tlsAuthority)
        case .tlsCertificate: MessageValue(profile.tlsCertificate)
        case .tlsKey: MessageValue(profile.tlsKey)
        case .tlsFirst: .bool(profile.tlsFirst ?? false)
        // A command line may hold a secret, and an address a password.
        case .tokenCommand, .tokenCommandInSnakeCase: profile.tokenCommand == nil ? .null : hidden
        case .proxy: profile.proxy.map { .string(shown(proxy: $0)) } ?? .null
        case .session: .string(profile.session ?? "shared")
        case .device: MessageValue(profile.device)
        case .retention: (profile.shared.retention ?? .parley).setting
        case .join: MessageValue(profile.shared.join?.map(\.text) ?? [])
        case .mutes: MessageValue(profile.shared.mutes?.map(\.text) ?? [])
        case .highlights: MessageValue(profile.shared.highlights ?? [])
        case .bell: .string((profile.shared.bell ?? .mentions).rawValue)
        case .notifications: (profile.shared.notifications ?? NotificationSetting()).value
        case .typing: .bool(profile.shared.typing ?? true)
        case .idleAfter: number(profile.shared.idleAfter ?? 0)
        case .followUnread: MessageValue(profile.shared.followUnread ?? 0)
        case .followLetters: .bool(profile.shared.followLetters ?? true)
        case .theme: .string((profile.shared.theme ?? .auto).rawValue)
        case .symbols: .string((profile.shared.symbols ?? .auto).rawValue)
        }
    }

    private static func number(_ value: Double) -> MessageValue {
        Int64(exactly: value).map { .int($0) } ?? .double(value)
    }

    private static func shown(proxy text: String) -> String {
        guard !text.isEmpty else { return "" }
        return (try? ProxyAddress(parsing: text)).map { "\($0)" } ?? "…"
    }
}

extension NotificationSetting {
    fileprivate var value: MessageValue {
        [
            "mentions": .bool(mentions), "letters": .bool(letters), "ends": .bool(ends), "by": .string(by.rawValue),
        ]
    }
}

extension RetentionPolicy {
    fileprivate var setting: MessageValue {
        var map = Self.setting(all)
        if !patterns.isEmpty {
            map["topics"] = .array(
                patterns.map { pattern in
                    var entry = Self.setting(pattern.limit)
                    entry["topic"] = .string(pattern.pattern.text)
                    return .map(entry)
                })
        }
        return .map(map)
    }

    private static func setting(_ limit: Limit) -> MessageMap {
        let ages: [(Int64, String)] = [(604_800, "w"), (86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")]
        let sizes: [(Int64, String)] = [
            (1 << 30, "GiB"), (1_000_000_000, "GB"), (1 << 20, "MiB"), (1_000_000, "MB"), (1 << 10, "KiB"),
            (1_000, "kB"), (1, "B"),
        ]
        /// In the largest unit that divides the count evenly.
        func text(_ count: Int64, _ units: [(Int64, String)]) -> String {
            units.first { count % $0.0 == 0 }.map { "\(count / $0.0)\($0.1)" } ?? "\(count)"
        }
        return [
            "age": .string(limit.age.map { text($0.components.seconds, ages) } ?? "none"),
            "size": .string(limit.bytes.map { text(Int64($0), sizes) } ?? "none"),
        ]
    }
}
