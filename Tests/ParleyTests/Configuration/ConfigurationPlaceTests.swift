import Foundation
import NATS
import Testing

@testable import Parley

@Suite("Mistakes in the configuration: file, line and column")
struct ConfigurationPlaceTests {
    /// What is said of a text; nil where nothing is wrong with it.
    private func complaint(_ text: String) -> String? { complaint(Data(text.utf8)) }

    private func complaint(_ data: Data) -> String? {
        do throws(CommandFailure) { _ = try ConfigurationSource(data, path: "c.json") } catch {
            return error.code == .badConfiguration ? error.text : "wrong exit status \(error.code)"
        }
        return nil
    }

    @Test("The documents write the defaults to the file that is read")
    func document() throws {
        var url = URL(filePath: #filePath)
        for _ in 0..<4 { url.deleteLastPathComponent() }
        let document = url.appending(path: "Documentation/User/Configuration.md")
        let text = try String(contentsOf: document, encoding: .utf8)
        let (path, isNamed) = ConfigurationFile.place(flag: nil, ["HOME": "/home/al"])
        #expect(!isNamed && text.contains("parley config defaults > ~\(path.dropFirst("/home/al".count))\n"))
    }

    @Test(
        "What is no JSON5 is refused where it begins to be none",
        arguments: [
            ("", "1:1: there is nothing here"),
            ("// a comment alone\n", "2:1: there is nothing here"),
            ("{ not json", "1:7: expected a colon behind the key, found “json”"),
            ("{\n  retention: { age: 30d }\n}", "2:21: this is no number; a text stands in quotes"),
            ("{ profiles: { default: { user: alice } } }", "1:32: “alice” is no value; a text stands in quotes"),
            ("{ profiles: {}\n  retention: {} }", "2:3: expected a comma or }, found “retention”"),
            ("{ profiles: { a: { servers: [\"x\" 'y'] } } }", "1:34: expected a comma or ], found “'”"),
            ("{\n\tprofiles: {\n", "2:12: the { here is never closed by a }"),
            ("{ profiles: { a: { servers: [", "1:29: the [ here is never closed by a ]"),
            ("{ profiles: { a: { user: 'alice } } }", "1:26: the text that begins here has no closing quote"),
            ("{ profiles: {} /* never ends }", "1:16: the comment that begins here has no end"),
            ("{ profiles: {} / retention }", "1:16: a comment begins with // or /*"),
            ("{} {}", "1:4: expected nothing more, found “{”"),
            ("{,}", "1:2: expected a key or }, found “,”"),
            ("{ profiles:\u{A0}{} }", "1:12: this looks like a space and is U+A0"),
            ("{ profiles: { a: { user: '\\u12' } } }", "1:27: 4 hexadecimal digits have to follow here"),
            ("{ profiles: { a: { user: 'C:\\dir' } } }", "1:29: the backslash stands for nothing here; write \\\\"),
            ("{ profiles: { a: { user: 'a\tb' } } }", "1:28: a tab is written as \\t in a text"),
            ("{ profiles: { a: { user: '\\ud83d' } } }", "1:27: this is half a character"),
            ("{ profiles: { a: { suspendAfter: 012 } } }", "1:34: a number does not begin with a zero more"),
            ("{ \\u0061: {} }", "1:3: a key with a backslash needs quotes"),
            ("{ 'a\\\nb': {} }", "1:3: a key stands on one line"),
            ("{ profiles: {}, retention: {}, profiles: {} }", "1:32: “profiles” is here a second time"),
        ])
    func syntax(_ text: String, _ words: String) throws {
        let said = try #require(complaint(text))
        #expect(said.hasPrefix("c.json:\(words)"), "\(said)")
    }

    @Test(
        "An unknown key is named where the key is, a wrong value where the value is",
        arguments: [
            ("{ profile: {} }", "1:3: “profile” is not a setting; these are: "),
            ("{ profiles: { a: { server: [] } } }", "1:20: profiles.a: “server” is not a setting"),
            ("{ profiles: { a: { servers: 'x' } } }", "1:29: profiles.a.servers is not a list"),
            ("{ profiles: { a: { servers: ['nats://x', 7] } } }", "1:42: profiles.a.servers.1 is not a text"),
            ("{ profiles: { a: { user: null, tlsFirst: 1 } } }", "1:42: profiles.a.tlsFirst is not true or false"),
            ("{ profiles: [] }", "1:13: profiles is not an object"),
            ("[]", "1:1: this is not an object"),
            ("{ profiles: { 12: {} } }", "1:15: expected a key or }, found “12”"),
            ("{ profiles: { '12': { user: 1 } } }", "1:29: profiles.12.user is not a text"),
        ])
    func keysAndTypes(_ text: String, _ words: String) throws {
        let said = try #require(complaint(text))
        #expect(said.hasPrefix("c.json:\(words)"), "\(said)")
    }

    @Test(
        "A value that is out of range is named where it is",
        arguments: [
            ("suspendAfter: -1", 14, "suspendAfter: it takes a number of seconds"),
            ("suspendAfter: NaN", 14, "suspendAfter: it takes a number of seconds"),
            ("reconnect: 'never'", 11, "reconnect: “never” is no reconnection policy"),
            ("session: 'mine'", 9, "session: “mine” is no session; these are: shared"),
            ("servers: ['nats://a', 'ftp://b']", 22, "servers.1: "),
            ("proxy: 'nonsense'", 7, "proxy: "),
            ("token_command: 'a', tokenCommand: 'b'", 0, "tokenCommand and token_command are the same"),
            ("token_command: 'a', creds: 'b'", 20, "creds and token_command exclude each other"),
            ("namespace: 'a'", 0, "namespace and hash go together"),
            ("hash: 'a'", 0, "namespace and hash go together"),
            ("retention: { topics: [{ topic: 'a', age: 'soon' }] }", 41, "retention.topics.0.age: “soon”"),
        ] as [(String, Int, String)])
    func ranges(_ setting: String, _ offset: Int, _ words: String) throws {
        let before = "{ profiles: { a: { "
        let said = try #require(complaint(before + setting + " } } }"))
        #expect(said.hasPrefix("c.json:1:\(before.count + offset + 1): profiles.a") && said.contains(words), "\(said)")
    }

    @Test(
        "A place is right behind every kind of line end, comment, tab and character, and in nested lists",
        arguments: [
            ("{\r\n  profiles: {\r\n    a: { user: 1 } } }", "3:16"),
            ("{\r  profiles: {\r    a: { user: 1 } } }", "3:16"),
            ("{\n\tprofiles: {\n\t\ta: {\tuser:\t1 } } }", "3:14"),
            ("{ // why, { \"\n  profiles: /* } \n\n */ { a: { user: 1 } } }", "4:18"),
            ("\u{FEFF}{ profiles: { a: { user: 1 } } }", "1:26"),
            ("{ profiles: { '日本': { user: 1 } } }", "1:29"),
            ("{ profiles: { '🇩🇪👩‍👩‍👧e\u{301}': { user: 1 } } }", "1:30"),
            ("{ profiles: { '\\x61': { 'us\\u0065r': 1, } } }", "1:38"),
            ("{ profiles: { a: { device: 'x\\\n y', user: 1 } } }", "2:12"),
            ("{ retention: { topics: [{ topic: 'a' },\n { topic: 'b' }, { topic: 'c', age: 7, }, ], }, }", "2:37"),
        ])
    func places(_ text: String, _ place: String) throws {
        let said = try #require(complaint(text))
        #expect(said.hasPrefix("c.json:\(place): "), "\(said)")
    }

    @Test("Numbers and texts are read in every form that the decoder takes")
    func all() {
        let text = """
            \u{FEFF}// comments
            { /* of both kinds */ "profiles": { 'a': { $suspendAfter: 0 } }, }
            """
        #expect(complaint(text)?.contains("“$suspendAfter” is not a setting") == true)
        for number in ["0", "+1", "1.", ".5", "1e3", "1.5E-3", "0x1F"] {
            #expect(complaint("{ profiles: { a: { suspendAfter: \(number) } } }") == nil, "\(number)")
        }
        for user in [
            #""a""#, "'a'", #"'\x61'"#, #"'\u0061\ud83d\ude00'"#, #"'a\'"'"#, #"'\"\\\/\b\f\n\r\t'"#, "'a\\\n b'",
            "'a\\\r\nb'", "'日本'",
        ] {
            #expect(complaint("{ profiles: { a: { user: \(user) } } }") == nil, "\(user)")
        }
    }

    @Test("A file in another encoding, or nested beyond measure, is refused and ends nothing")
    func hostile() {
        #expect(complaint(Data([0x7B, 0x0A, 0x20, 0xFF, 0x7D]))?.hasPrefix("c.json:2:2: this is not UTF-8") == true)
        let deep = String(repeating: "[", count: 100_000)
        #expect(complaint(deep)?.hasPrefix("c.json:1:101: too much is nested here") == true)
        #expect(complaint(String(repeating: "x", count: 1_100_000))?.contains("too large") == true)
        // What it says of it holds no control character.
        #expect(complaint("{ a: \u{1B}[2J }")?.contains("\u{1B}") == false)
    }

    @Test(
        "Whatever becomes of a text, it is well or its mistake has a place, and the decoder finds no syntax to refuse")
    func mutations() throws {
        let whole = """
            // a comment
            { "profiles": { 'default': { servers: ["nats://a", 'tls://b',], user: "日本\\u0041", suspendAfter: +0x1F, },
              /* another */ work: { tlsFirst: true, creds: null, suspendAfter: .5e1, }, }, }
            """
        #expect(complaint(whole) == nil)
        var random = SeededGenerator(seed: 20_261_122)
        let pieces =
            Array("{}[]:,'\"\\/*\n\r\t 0x1e+-.NIatu").map { Array(String($0).utf8) } + [
                Array("日".utf8), [0xC2, 0xA0], [0xFF], [0xEF, 0xBB, 0xBF], Array("\\u12".utf8), Array("null".utf8),
            ]
        for _ in 0..<1_500 {
            var bytes = Array(whole.utf8)
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes.remove(at: place)
                case 1: bytes.insert(contentsOf: pieces.randomElement(using: &random) ?? [], at: place)
                default: bytes.replaceSubrange(place...place, with: pieces.randomElement(using: &random) ?? [])
                }
            }
            guard let said = complaint(Data(bytes)) else { continue }
            let text = String(decoding: bytes, as: UTF8.self)
            let place = said.split(separator: ":").dropFirst().prefix(2).compactMap { Int($0) }
            #expect(place.count == 2 && place.allSatisfy { $0 > 0 } && !said.contains("valid JSON"), "\(said)\n\(text)")
        }
    }
}
