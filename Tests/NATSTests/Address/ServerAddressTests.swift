import Testing

@testable import NATS

@Suite("Server addresses")
struct ServerAddressTests {
    struct Entry: Sendable, CustomTestStringConvertible {
        var text: String
        var host: String
        var port: Int
        var usesTLS: Bool
        var description: String
        var testDescription: String { text }
        init(_ text: String, _ host: String, _ port: Int, _ usesTLS: Bool, _ description: String) {
            (self.text, self.host, self.port, self.usesTLS) = (text, host, port, usesTLS)
            self.description = description
        }
    }

    @Test(
        "are read from URLs",
        arguments: [
            Entry("localhost", "localhost", 4222, false, "nats://localhost:4222"),
            Entry("nats://localhost", "localhost", 4222, false, "nats://localhost:4222"),
            Entry("NATS://h:1", "h", 1, false, "nats://h:1"),
            Entry("tls://h:65535/", "h", 65_535, true, "tls://h:65535"),
            Entry("127.0.0.1:5000", "127.0.0.1", 5_000, false, "nats://127.0.0.1:5000"),
            Entry("nats://[::1]", "::1", 4222, false, "nats://[::1]:4222"),
            Entry("tls://[fe80::1%eth0]:5", "fe80::1%eth0", 5, true, "tls://[fe80::1%eth0]:5"),
            Entry("[2001:db8::2]:80", "2001:db8::2", 80, false, "nats://[2001:db8::2]:80"),
            Entry("nats://user:pass@h:1", "h", 1, false, "nats://h:1"),
            Entry("nats://token@[::1]:1", "::1", 1, false, "nats://[::1]:1"),
        ])
    func parsed(entry: Entry) throws {
        let address = try ServerAddress(parsing: entry.text)
        #expect(address.host == entry.host)
        #expect(address.port == entry.port)
        #expect(address.usesTLS == entry.usesTLS)
        #expect(address.description == entry.description)
        #expect(try ServerAddress(parsing: address.description).description == entry.description)
    }

    @Test(
        "are refused with words on what to write instead",
        arguments: [
            "", "nats://", "http://h", "ws://h", "h:0", "h:65536", "h:-1", "h:x", "h:", ":1", "::1", "nats://::1:4222",
            "nats://[::1", "nats://[::1]x", "nats://[]:1", "h/path", "h h", "h\r\n", "nats://user@", "://h",
            "nats://" + String(repeating: "h", count: 254),
        ])
    func refused(text: String) {
        #expect {
            try ServerAddress(parsing: text)
        } throws: { error in
            guard case NATSError.invalidArgument(let words) = error else { return false }
            return !words.isEmpty && !words.contains("user@")
        }
    }

    @Test("carry user and password, or a token alone")
    func userInfo() throws {
        guard case .user("u", "p:w@d") = try ServerAddress(parsing: "nats://u:p:w@d@h:1").authentication else {
            Issue.record("no user and password")
            return
        }
        guard case .token("secret") = try ServerAddress(parsing: "secret@h").authentication else {
            Issue.record("no token")
            return
        }
        let withoutUser = try ServerAddress(parsing: "nats://@h").authentication
        #expect(withoutUser.map { "\($0)" } == nil)
        let plain = try ServerAddress(parsing: "nats://h").authentication
        #expect(plain.map { "\($0)" } == nil)
    }

    @Test("decode the escapes of a URL in what they carry, and leave what is no escape")
    func escapes() throws {
        guard case .user("a:b", "p@ss/100%") = try ServerAddress(parsing: "nats://a%3Ab:p%40ss%2f100%@h").authentication
        else {
            Issue.record("escapes are not decoded")
            return
        }
    }

    @Test(
        "are made from what a server tells of its cluster",
        arguments: [
            ("10.0.0.2:4223", "10.0.0.2", 4_223), ("[2001:db8::2]:4111", "2001:db8::2", 4_111), ("other:1", "other", 1),
            ("other", "other", 4_222),
        ])
    func discovered(entry: String, host: String, port: Int) throws {
        let known = try ServerAddress(parsing: "tls://user:hunter2@broker.example:4222")
        let address = try #require(ServerAddress(discovered: entry, like: known))
        #expect(address.host == host && address.port == port && address.usesTLS)
        // A bare address is to have the certificate of the name that it was discovered under.
        #expect(address.certificateName == (host == "other" ? nil : "broker.example"))
        #expect(!"\(address)".contains("hunter2"))
        guard case .user("user", "hunter2") = address.authentication else {
            Issue.record("the login is lost")
            return
        }
        // So do those that are discovered from it in turn.
        let next = try #require(ServerAddress(discovered: "10.0.0.3:1", like: address))
        #expect(next.certificateName == (address.certificateName ?? "other"))
        let plain = try #require(ServerAddress(discovered: entry, like: ServerAddress(host: "127.0.0.1")))
        #expect(!plain.usesTLS && plain.certificateName == nil && plain.authentication.map { "\($0)" } == nil)
    }

    @Test(
        "are not made from what is no host and port",
        arguments: ["", ":1", "h:0", "h:x", "::1", "nats://h:1", "user@h:1", "h h:1", "[::1", "h\r\n:1"])
    func undiscovered(entry: String) {
        #expect(ServerAddress(discovered: entry, like: ServerAddress(host: "h")) == nil)
    }

    @Test("never show what they carry", arguments: ["nats://someone:hunter2@h:1", "hunter2@h:1"])
    func secrecy(text: String) throws {
        let address = try ServerAddress(parsing: text)
        var dumped = ""
        dump(address, to: &dumped)
        for shown in ["\(address)", String(reflecting: address), dumped, "\([address])", "\(Optional(address) as Any)"]
        {
            #expect(!shown.contains("hunter2") && !shown.contains("someone"))
        }
    }
}
