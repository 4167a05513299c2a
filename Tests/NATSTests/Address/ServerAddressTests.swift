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
            // As they are pasted, and as other programs take them.
            Entry(" \u{FEFF}nats://h:1\r\n", "h", 1, false, "nats://h:1"),
            Entry("\u{A0}h\t", "h", 4222, false, "nats://h:4222"),
            Entry("//h:1/", "h", 1, false, "nats://h:1"),
            Entry("nats:4333", "nats", 4_333, false, "nats://nats:4333"),
            Entry("tls:4333/", "tls", 4_333, false, "nats://tls:4333"),
            Entry("nats/", "nats", 4222, false, "nats://nats:4222"),
            Entry("nats.example:1", "nats.example", 1, false, "nats://nats.example:1"),
            Entry("TLS://H.Example.:1", "H.Example.", 1, true, "tls://H.Example.:1"),
            Entry("LocalHost.:1", "localhost", 1, false, "nats://localhost:1"),
            Entry("h:", "h", 4222, false, "nats://h:4222"),
            Entry("nats://[::1]:", "::1", 4222, false, "nats://[::1]:4222"),
            Entry("h:04222", "h", 4222, false, "nats://h:4222"),
            Entry("nats://a_b-1.example", "a_b-1.example", 4222, false, "nats://a_b-1.example:4222"),
            Entry(
                "nats://xn--bcher-kva.example", "xn--bcher-kva.example", 4222, false,
                "nats://xn--bcher-kva.example:4222"),
            // Addresses in forms that mean another one's.
            Entry("127.1:1", "127.0.0.1", 1, false, "nats://127.0.0.1:1"),
            Entry("0x7f.0.0.1", "127.0.0.1", 4222, false, "nats://127.0.0.1:4222"),
            Entry("0177.0.0.1.", "127.0.0.1", 4222, false, "nats://127.0.0.1:4222"),
            Entry("2130706433", "127.0.0.1", 4222, false, "nats://127.0.0.1:4222"),
            Entry("[0:0:0:0:0:0:0:1]", "::1", 4222, false, "nats://[::1]:4222"),
            Entry("[2001:DB8:0::0:2]", "2001:db8::2", 4222, false, "nats://[2001:db8::2]:4222"),
            Entry("[fe80::1%25eth0]:5", "fe80::1%eth0", 5, false, "nats://[fe80::1%eth0]:5"),
            Entry("[::ffff:10.0.0.1]", "::ffff:10.0.0.1", 4222, false, "nats://[::ffff:10.0.0.1]:4222"),
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
        "are refused with words that name what is wrong, and with nothing that may be secret",
        arguments: [
            ("", "no host"), ("nats://", "no host"), (" \t", "no host"), (":1", "no host"), ("nats://user@", "no host"),
            ("nats://[]:1", "no host"), ("http://h", "begins with nats:// or tls://"),
            ("https://h", "begins with nats:// or tls://"), ("://h", "begins with nats:// or tls://"),
            ("ws://h", "WebSocket"), ("WSS://h:443", "WebSocket"), ("nats:h", "two slashes"), ("tls:/h", "two slashes"),
            ("h:0", "1 to 65535"), ("h:65536", "1 to 65535"), ("h:-1", "1 to 65535"), ("h:+1", "1 to 65535"),
            ("h:x", "1 to 65535"), ("h:4 222", "1 to 65535"), ("me:user@x:99999", "1 to 65535"),
            ("h:99999999999999999999", "1 to 65535"), ("::1", "needs brackets"), ("nats://::1:4222", "needs brackets"),
            ("2001:db8::2", "needs brackets"), ("fe80::1%eth0", "needs brackets"),
            ("1:2:3:4:5:6:7:8:9", "needs brackets"),
            ("h:1:2", "has one port"), ("nats://127.0.0.1:1:2", "has one port"), ("h::1", "has one port"),
            ("nats://[::1", "has no ]"),
            ("nats://[::1]x", "After the ]"), ("[h]:1", "IPv6"), ("[127.0.0.1]:1", "IPv6"), ("[::1::2]", "IPv6"),
            ("[fe80::1%]", "network interface"), ("h/path", "leave out what follows, from / on"),
            ("nats://h:1?tls=true", "from ? on"), ("h#x", "from # on"), ("h h", "a blank"), ("h\r\nh", "a blank"),
            ("*", "“*”"), ("*.example.org", "“*”"), ("h%41", "“%”"), ("nats:\\\\h", "two slashes"), ("h\\x", "“\\”"),
            ("a|b", "“|”"),
            // A scheme whose colon and slashes are not complete, or are too many.
            ("nats:127.0.0.1:29001", "two slashes follow nats, as in nats://host:port"),
            ("tls:127.0.0.1", "two slashes follow tls, as in tls://host:port"),
            ("NATS:h:1", "two slashes follow nats"),
            ("nats:/h:1", "two slashes"), ("nats//h:1", "two slashes"), ("nats/h:1", "two slashes"),
            ("nats:[::1]:1", "two slashes"), ("nats:", "two slashes"), ("nats:/", "two slashes"),
            ("nats:user@h:1", "two slashes"), ("nats:99999", "1 to 65535"),
            ("http:h:1", "begins with nats:// or tls://"),
            ("https:/h", "begins with nats:// or tls://"), ("wss:h", "WebSocket"), ("ws//h", "WebSocket"),
            ("nats:///h:1", "no host"), ("///h", "no host"), ("/h", "no host"), ("?h", "no host"),
            ("nats://bücher.example", "xn--"), ("ｈ", "xn--"), ("a..b", "two in a row"), (".h", "begin with a dot"),
            ("1.2.3.456", "no IPv4"), ("1.2.3.4.5", "no IPv4"), ("256.1", "no IPv4"), ("h.1", "no IPv4"),
            ("nats://" + String(repeating: "h", count: 254), "too long"),
        ])
    func refused(text: String, reason: String) {
        #expect {
            try ServerAddress(parsing: text)
        } throws: { error in
            guard case NATSError.invalidArgument(let words) = error else { return false }
            return words.contains(reason) && !words.contains("user")
        }
    }

    @Test("An address is in a network by its first bits, however it is written")
    func networks() throws {
        func isIn(_ address: String, _ network: String, _ prefix: Int) throws -> Bool {
            try #require(IPLiteral(address)).isIn(#require(IPLiteral(network)), prefix: prefix)
        }
        #expect(try isIn("10.1.2.3", "10.0.0.0", 8) && !isIn("11.1.2.3", "10.0.0.0", 8))
        #expect(try isIn("10.255.0.1", "10.254.0.0", 15) && !isIn("10.252.0.1", "10.254.0.0", 15))
        #expect(try isIn("1.2.3.4", "9.9.9.9", 0) && isIn("1.2.3.4", "1.2.3.4", 32) && !isIn("1.2.3.4", "1.2.3.5", 32))
        #expect(try isIn("fd00::1", "fd00::", 8) && !isIn("fe00::1", "fd00::", 8) && !isIn("fd00::1", "10.0.0.0", 8))
        #expect(try isIn("::ffff:10.0.0.1", "10.0.0.0", 8))
        #expect(
            IPLiteral("fe80::1%eth0") == IPLiteral("fe80:0::1") && IPLiteral("127.1") == nil && IPLiteral("h") == nil)
        for text in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] {
            #expect(IPLiteral(text)?.isLoopback == true)
        }
        for text in ["128.0.0.1", "::", "::2", "1::1"] { #expect(IPLiteral(text)?.isLoopback == false) }
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
        #expect(address.authentication.map { "\($0)" } == nil)
        // So do those that are discovered from it in turn.
        let next = try #require(ServerAddress(discovered: "10.0.0.3:1", like: address))
        #expect(next.certificateName == (address.certificateName ?? "other"))
        let plain = try #require(ServerAddress(discovered: entry, like: ServerAddress(host: "127.0.0.1")))
        #expect(!plain.usesTLS && plain.certificateName == nil && plain.authentication.map { "\($0)" } == nil)
    }

    @Test("take the login of a URL to its own host alone, whatever a server tells of others")
    func discoveredLogin() throws {
        let known = try ServerAddress(parsing: "nats://user:hunter2@broker.example:4222")
        let listed = try ServerAddress(parsing: "nats://other:secret@listed.example:4222")
        let same = try #require(ServerAddress(discovered: "Broker.example:4333", like: known, configured: [listed]))
        guard case .user("user", "hunter2") = same.authentication else {
            Issue.record("the login is lost")
            return
        }
        let other = try #require(ServerAddress(discovered: "listed.example:4", like: known, configured: [listed]))
        guard case .user("other", "secret") = other.authentication else {
            Issue.record("the login that the user gave for it is lost")
            return
        }
        for entry in ["evil.example:4222", "broker.example.evil:4222", "127.0.0.1:4222"] {
            let address = try #require(ServerAddress(discovered: entry, like: known, configured: [listed]))
            #expect(address.authentication.map { "\($0)" } == nil)
        }
    }

    @Test(
        "are not made from what is no host and port",
        arguments: ["", ":1", "h:0", "h:x", "h/x", "::1", "nats://h:1", "user@h:1", "h h:1", "[::1", "h\r\n:1"])
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
