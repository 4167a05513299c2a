import Foundation
import TestSupport
import Testing

@Suite("Commands: the configuration file", .realProcesses)
struct ConfigCommandTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory("config") }

    private func parley(_ words: String...) async throws -> ChildProcess.Result {
        try await ChildProcess.run(
            try BuiltProduct.url("parley").path, words,
            environment: [
                "XDG_CONFIG_HOME": folder.path, "XDG_DATA_HOME": folder.path("data"), "SWIFT_BACKTRACE": "enable=no",
            ])
    }

    @Test("A process that may open too few files is told so, whatever the command; a soft limit is raised")
    func fewFiles() async throws {
        func limited(_ limit: String, _ words: String) async throws -> ChildProcess.Result {
            try await ChildProcess.run(
                "/bin/sh", ["-c", "ulimit \(limit) && exec \"$0\" \(words)", try BuiltProduct.url("parley").path],
                environment: ["XDG_CONFIG_HOME": folder.path, "XDG_DATA_HOME": folder.path("data")])
        }
        for (limit, words) in [
            ("-n 8", "config path"), ("-n 12", "watch --server nats://127.0.0.1:1"), ("-n 16", "send a b --as alice"),
            ("-n 24", "--version"),
        ] {
            let refused = try await limited(limit, words)
            #expect(refused.exitCode == 78 && refused.output.isEmpty, "\(limit) \(words): \(refused)")
            #expect(refused.diagnostics.hasPrefix("parley: The system lets this process open "), "\(refused)")
            #expect(refused.lines.isEmpty && refused.diagnostics.hasSuffix("ulimit -n 1024.\n"), "\(refused)")
        }
        #expect(try await limited("-Sn 8", "config path").exitCode == 0)
    }

    @Test("Without a file all is well; what the defaults print is one, and changes nothing")
    func defaults() async throws {
        let path = folder.path("parley/config.json")
        let place = try await parley("config", "path")
        #expect(place.exitCode == 0 && place.output == path + "\n", "\(place)")
        let none = try await parley("config", "check")
        #expect(none.exitCode == 0 && none.output.contains("none is needed"), "\(none)")

        let before = try await parley("config", "show")
        let defaults = try await parley("config", "defaults")
        #expect(defaults.exitCode == 0, "\(defaults)")
        try FileManager.default.createDirectory(atPath: folder.path("parley"), withIntermediateDirectories: true)
        try folder.write(defaults.output, to: "parley/config.json")
        let check = try await parley("config", "check", "--json")
        let object = try JSONLine(check.output)
        #expect(check.exitCode == 0 && object["exists"].bool == true, "\(check)")
        #expect(object["path"].string == path && object["profiles"].array.map(\.string) == ["default"], "\(check)")
        try folder.write("{ profiles: { five: {} } }", to: "parley/config.json5")
        let both = try await parley("config", "check")
        #expect(both.exitCode == 0 && both.diagnostics.contains("\(path)5 is not read"), "\(both)")
        let after = try await parley("config", "show")
        func values(_ result: ChildProcess.Result) -> [String] {
            // Of the keys those are shown that the file names.
            result.lines.filter { !$0.hasPrefix("keys.") }
                .map { String($0.prefix { $0 != "/" }).replacing(" ", with: "") }
        }
        #expect(!before.lines.isEmpty && values(before) == values(after), "\(before)\n\(after)")
        try FileManager.default.removeItem(atPath: path)
        let five = try JSONLine(try await parley("config", "check", "--json").output)
        #expect(five["path"].string == path + "5" && five["profiles"].array.map(\.string) == ["five"], "\(five)")
    }

    @Test("A mistake ends with 78 and its file, line and column, whoever reads the file")
    func mistake() async throws {
        try folder.write("{\n  profiles: { default: { user: 7 } },\n}\n", to: "wrong.json")
        let path = folder.path("wrong.json")
        let words = "parley: \(path):2:32: profiles.default.user is not a text\n"
        for command in [["config", "check"], ["config", "show"], ["chat"], ["store", "status"]] {
            let result = try await ChildProcess.run(
                try BuiltProduct.url("parley").path, command + ["--config", path],
                environment: ["XDG_DATA_HOME": folder.path("data"), "SWIFT_BACKTRACE": "enable=no"])
            #expect(result.exitCode == 78 && result.diagnostics == words && result.output.isEmpty, "\(result)")
        }
        let missing = try await parley("config", "check", "--config", folder.path("none.json"))
        #expect(missing.exitCode == 78 && missing.diagnostics.contains("cannot be read"), "\(missing)")
        let unnamed = try await parley("config", "check", "--profile", "none")
        #expect(unnamed.exitCode == 78 && unnamed.diagnostics.contains("no profile “none”"), "\(unnamed)")
    }

    @Test(
        "Files that a profile names are read: one that is missing or does not fit ends with 78 and its place and name")
    func namedFiles() async throws {
        let (missing, empty) = (folder.path("none.pem"), try folder.write("", to: "empty.pem"))
        for (setting, place, words) in [
            ("tlsAuthority: '\(missing)'", "2:54", "profiles.a.tlsAuthority: \(missing), which is to hold"),
            ("tlsCertificate: '\(empty)'", "2:56", "profiles.a.tlsCertificate: \(empty) holds no certificate"),
            ("tlsKey: '\(empty)'", "2:48", "profiles.a.tlsKey: The key \(empty) has no certificate"),
            ("creds: '\(missing)'", "2:47", "profiles.a.creds: The credentials are not valid: There is no"),
            ("creds: '\(empty)'", "2:47", "profiles.a.creds: The credentials are not valid: The credentials hold no"),
        ] {
            let servers = "servers: ['tls://127.0.0.1:1']"
            let path = try folder.write("{ profiles: {\n  a: { \(servers), \(setting) } } }", to: "files.json")
            let check = try await parley("config", "check", "--config", path)
            #expect(check.exitCode == 78 && check.diagnostics.contains(words), "\(check)")
            #expect(check.diagnostics.hasPrefix("parley: \(path):\(place): "), "\(check)")
            // Nothing is dialled before that is known.
            let send = try await parley("send", "x", "y", "--profile", "a", "--config", path)
            #expect(send.exitCode == 78, "\(send)")
            let doctor = try await parley("doctor", "--profile", "a", "--config", path)
            for said in [send.diagnostics, doctor.output] {
                #expect(said.contains((words.split(separator: ": ").last ?? "?").prefix(30)), "\(said)")
            }
        }
        // Credentials that no server would take are not left out without a word.
        for setting in ["creds", "token_command"] {
            let path = try folder.write("{ profiles: {\n  a: { \(setting): 'x' } } }", to: "alone.json")
            let check = try await parley("config", "check", "--config", path)
            let words = "it is for other servers, and the profile names none: add servers"
            #expect(check.diagnostics.hasSuffix(": profiles.a.\(setting): \(words)\n"), "\(check)")
            #expect(check.exitCode == 78 && check.diagnostics.hasPrefix("parley: \(path):2:"), "\(check)")
            let list = try await parley("postbox", "list", "--profile", "a", "--config", path)
            #expect(list.exitCode == 78 && list.diagnostics.contains(words), "\(list)")
        }
    }

    @Test("Without HOME the configuration is the account's, and a relative HOME or XDG folder ends with 78")
    func home() async throws {
        func parley(_ assignments: String...) async throws -> ChildProcess.Result {
            try await ChildProcess.run(
                "/usr/bin/env",
                ["-i", "PATH=/usr/bin:/bin"] + assignments + [
                    try BuiltProduct.url("parley").path, "config", "path",
                ], environment: [:])
        }
        let account = FileManager.default.homeDirectory(forUser: NSUserName())?.path
        let unset = try await parley()
        #expect(unset.exitCode == 0 && unset.output == "\(account ?? "")/.config/parley/config.json\n", "\(unset)")
        for name in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"] {
            let relative = try await parley("HOME=/h", "\(name)=here")
            #expect(relative.exitCode == 78 && relative.output.isEmpty, "\(relative)")
            #expect(relative.diagnostics.hasPrefix("parley: \(name) is “here”, which is not a full path."))
        }
    }

    @Test("What is shown for scripts is one object a setting, with its source")
    func show() async throws {
        try folder.write("{ highlights: ['deploy'] }", to: "config.json")
        let path = folder.path("config.json")
        let result = try await parley("config", "show", "--json", "--as", "alice", "--config", path)
        let objects = try result.lines.map { try JSONLine($0) }
        let user = objects.first { $0["setting"].string == "user" }
        #expect(user?["value"].string == "alice" && user?["source"].string == "--as", "\(result)")
        let highlights = objects.first { $0["setting"].string == "highlights" }
        #expect(highlights?["value"].array.map(\.string) == ["deploy"], "\(result)")
        #expect(highlights?["source"].string == "\(path):1:15", "\(result)")
        #expect(objects.first { $0["setting"].string == "hash" }?["source"].isNull == true, "\(result)")
    }
}
