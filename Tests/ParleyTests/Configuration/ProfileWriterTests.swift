import Foundation
import Relay
import TestSupport
import Testing

@testable import Parley

@Suite("A profile that is added to the configuration file")
struct ProfileWriterTests {
    private let folder: TemporaryDirectory
    private let profile: MessageMap = ["servers": ["tls://chat.example.org:4222"], "creds": "/c/user.creds"]

    init() throws { folder = try TemporaryDirectory("profile") }

    private var environment: [String: String] { ["XDG_CONFIG_HOME": folder.path("config")] }
    private var path: String { folder.path("config/parley/config.json") }

    private func add(_ name: String) throws -> ConfigurationFile {
        let writer = try ProfileWriter(flag: nil, environment)
        try writer.write(writer.adding(name, profile))
        return try ConfigurationSource(flag: nil, environment).file
    }

    @Test("Where there is no file one is made, for its owner alone; the next profile comes beside the first")
    func fresh() throws {
        #expect(try add("work").profiles["work"]?.servers == ["tls://chat.example.org:4222"])
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(try add("home").profiles.keys.sorted() == ["home", "work"])
    }

    @Test(
        "What its person wrote stays, comments too",
        arguments: [
            "{}", "{ /* mine */ }", "{ theme: 'dark' } // end", "{\n  // mine\n  profiles: {},\n  mutes: ['a'],\n}\n",
            "{ profiles: { default: { user: 'me' } } }", "{ 'profiles': { /* { */ a: {}, } }",
        ])
    func kept(text: String) throws {
        try FileManager.default.createDirectory(
            atPath: folder.path("config/parley"), withIntermediateDirectories: true)
        try folder.write(text, to: "config/parley/config.json", permissions: 0o640)
        let before = try ConfigurationSource(flag: nil, environment).file
        var after = try add("work")
        let added = after.profiles.removeValue(forKey: "work")
        #expect(added?.creds == "/c/user.creds" && after == before)
        // Taking out what was put in leaves the text.
        let written = try String(contentsOfFile: path, encoding: .utf8)
        var rest = written[...]
        for character in text.unicodeScalars {
            let place = try #require(rest.unicodeScalars.firstIndex(of: character), "\(written)")
            rest = rest[rest.unicodeScalars.index(after: place)...]
        }
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o640)
    }

    @Test(
        "Other servers take the place of a profile's, and all else stays, comments too",
        arguments: ["['a:1', /* b */ 'c:2']", "[]", "[ // mine\n 'a:1', ]"])
    func replaced(servers: String) throws {
        try FileManager.default.createDirectory(
            atPath: folder.path("config/parley"), withIntermediateDirectories: true)
        let text =
            "// first\n{ mutes: ['x'], profiles: { work: { servers: \(servers) , user: 'me' }, b: {} } } // last\n"
        try folder.write(text, to: "config/parley/config.json")
        let writer = try ProfileWriter(flag: nil, environment)
        try writer.write(writer.replacing(["profiles", "work", "servers"], ["n:1"]))
        #expect(
            try String(contentsOfFile: path, encoding: .utf8)
                == text.replacingOccurrences(of: servers, with: #"["n:1"]"#))
        #expect(throws: CommandFailure.self) { try writer.replacing(["profiles", "none", "servers"], []) }
    }

    @Test("A file that was changed meanwhile is left as it is")
    func changed() throws {
        _ = try add("work")
        let writer = try ProfileWriter(flag: nil, environment)
        let text = try writer.adding("home", profile)
        try folder.write("{}", to: "config/parley/config.json")
        #expect(throws: CommandFailure.self) { try writer.write(text) }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "{}")
    }

    @Test("The first name that is free is taken; one that was asked for has to be")
    func names() throws {
        let suitable = ["chat.example.org", "alice@chat.example.org"]
        #expect(try ProfileWriter.name(nil, suitable, taken: []) == "chat.example.org")
        #expect(try ProfileWriter.name(nil, suitable, taken: ["chat.example.org"]) == "alice@chat.example.org")
        #expect(try ProfileWriter.name(nil, ["::1", "alice@::1", "alice"], taken: []) == "alice")
        #expect(try ProfileWriter.name("work", suitable, taken: []) == "work")
        #expect(throws: CommandFailure.self) { try ProfileWriter.name("work", suitable, taken: ["work"]) }
        #expect(throws: CommandFailure.self) { try ProfileWriter.name(nil, ["a"], taken: ["a"]) }
        for text in ["", ".hidden", "a/b", "-x", "a b", String(repeating: "a", count: 65)] {
            #expect(throws: CommandFailure.self, "\(text)") { try ProfileWriter.name(text, suitable, taken: []) }
        }
    }
}
