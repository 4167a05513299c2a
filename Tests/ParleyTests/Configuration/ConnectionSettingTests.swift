import Relay
import TestSupport
import Testing

@testable import Parley

@Suite("Settings of the connection: token command, proxy, session, store")
struct ConnectionSettingTests {
    private func plan(
        _ words: [String] = [], _ profile: String? = nil, _ environment: [String: String] = [:]
    ) throws -> ConnectionPlan {
        let folder = try TemporaryDirectory("config")
        var words = words
        if let profile {
            try folder.write("{ profiles: { default: { \(profile) } } }", to: "config.json")
            words += ["--config", folder.path("config.json")]
        }
        return try ConnectionOptions.parse(words).plan(environment.merging(["XDG_CONFIG_HOME": folder.path]) { $1 })
    }

    private func failure(
        _ words: [String] = [], _ profile: String? = nil, _ environment: [String: String] = [:]
    ) -> CommandFailure? {
        do { _ = try plan(words, profile, environment) } catch { return error as? CommandFailure }
        return nil
    }

    private static let away = "servers: ['nats://chat.example.org:4333']"

    // MARK: Token command

    @Test("Both spellings of the token command count, and mistakes around it are configuration mistakes")
    func tokenCommand() throws {
        for key in ["token_command", "tokenCommand"] {
            #expect(try plan([], "\(Self.away), \(key): 'print-token'").tokenCommand != nil)
        }
        let both = failure([], "\(Self.away), token_command: 'a', tokenCommand: 'b'")
        #expect(both?.code == 78 && both?.text.contains("keep one") == true)
        #expect(failure([], "\(Self.away), token_command: 'a', creds: 'b.creds'")?.code == 78)
        #expect(failure([], "token_command: 'a'")?.code == 78)
        #expect(failure([], "\(Self.away), token_command: 7")?.code == 78)
    }

    @Test("A profile's credentials without a server are refused, and count beside --server; --as leaves them out")
    func credentialsWithoutServers() throws {
        let refused = failure([], "creds: '/none.creds'")
        #expect(refused?.code == 78 && refused?.text == "The profile's creds: \(Profile.needsServers).")
        #expect(try plan(["--as", "bob"], "creds: '/none.creds'").userName == "bob")
        #expect(throws: RelayError.self) { try plan(["--server", "nats://x"], "creds: '/none.creds'") }
    }

    @Test("A token command serves its profile's servers alone, and what the environment holds goes first")
    func tokenCommandPlace() throws {
        let profile = "\(Self.away), token_command: 'print-token'"
        #expect(try plan(["--server", "nats://other.example:4333"], profile).tokenCommand == nil)
        #expect(try plan(["--as", "bob"], profile).tokenCommand == nil)
        let options = try ConnectionOptions.parse([])
        let described = options.credentialsSource(
            Profile(servers: ["nats://x"], tokenCommand: "t"), ["PARLEY_TOKEN": "e"])
        #expect("\(described)" == "PARLEY_TOKEN")
    }

    @Test("A server that refuses somebody without credentials has the options said that give some")
    func missingCredentials() throws {
        let refusal = RelayError.connection(.authenticationFailed(""))
        func failure(_ words: [String], _ profile: String? = nil) throws -> CommandFailure? {
            try Connector(plan(words, profile)).explained(refusal) as? CommandFailure
        }
        let named = try failure(["--server", "nats://chat.example.org:4333"])
        #expect(named?.code == 77 && named?.text.hasPrefix("chat.example.org asks for credentials") == true)
        #expect(named?.text.contains("--creds FILE") == true && named?.text.contains("PARLEY_SECRET") == true)
        #expect(try failure([], Self.away) == named)
        // Some were given, and these were refused.
        #expect(try failure(["--server", "nats://me:word@chat.example.org:4333"]) == nil)
        #expect(try failure([], "\(Self.away), token_command: 'print-token'") == nil)
        let unreachable = RelayError.connection(.unreachable("x"))
        #expect(try Connector(plan([], Self.away)).explained(unreachable) as? RelayError == unreachable)
    }

    // MARK: Proxy

    private func proxy(
        _ words: [String] = [], _ profile: String? = nil, _ environment: [String: String] = [:]
    ) throws -> String? {
        try plan(words, profile ?? Self.away, environment).proxy.map { "\($0)" }
    }

    @Test("The flag's proxy wins over the profile's, and that over the environment's")
    func proxyOrder() throws {
        let environment = ["ALL_PROXY": "socks5://env.example:1080"]
        let profile = "\(Self.away), proxy: 'http://me:word@file.example:3128'"
        let flag = ["--proxy", "socks5://flag.example:1080"]
        #expect(try proxy() == nil)
        #expect(try proxy([], nil, environment) == "socks5://env.example:1080")
        #expect(try proxy([], nil, ["all_proxy": "http://u:p@low.example:3128"]) == "http://low.example:3128")
        #expect(try proxy([], profile, environment) == "http://file.example:3128")
        #expect(try proxy(flag, profile, environment) == "socks5://flag.example:1080")
        #expect(try proxy(["--proxy", ""], profile, environment) == nil)
        #expect(try proxy([], "\(Self.away), proxy: ''", environment) == nil)
    }

    @Test("The private network is never reached through a proxy, loopback only when asked for")
    func proxyLoopback() throws {
        let environment = ["ALL_PROXY": "socks5://env.example:1080"]
        #expect(try proxy(["--as", "bob"], nil, environment) == nil)
        #expect(try proxy(["--proxy", "socks5://flag.example:1080", "--as", "bob"]) == nil)
        #expect(try proxy([], "user: 'bob', proxy: 'socks5://file.example:1080'") == nil)
        for server in ["nats://127.0.0.1:4333", "nats://localhost:4333", "nats://[::1]:4333"] {
            #expect(try proxy(["--server", server], nil, environment) == nil)
            #expect(try proxy(["--server", server, "--proxy", "socks5://x.example:1"], nil) == "socks5://x.example:1")
        }
    }

    @Test("A proxy for some of the servers only is refused, and never used or left out in silence")
    func proxyForSome() throws {
        let environment = ["ALL_PROXY": "socks5://u:hush@env.example:1080"]
        let some = ["--server", "nats://127.0.0.1:4333", "--server", "tls://chat.example.org"]
        let refusal = failure(some, nil, environment)
        #expect(refusal?.code == 78 && refusal?.text.contains("127.0.0.1:4333") == true)
        #expect(refusal?.text.contains("hush") == false)
        #expect(try proxy(some + ["--proxy", ""], nil, environment) == nil)
        #expect(try proxy(some + ["--proxy", "socks5://x.example:1"], nil, environment) == "socks5://x.example:1")
    }

    @Test(
        "NO_PROXY excepts hosts, domains and ports",
        arguments: [
            ("chat.example.org", true), ("example.org", true), (".example.org", true), ("*.example.org", true),
            ("*", true), ("other.org, CHAT.example.org", true), ("chat.example.org:4333", true),
            ("chat.example.org:1", false), ("at.example.org", false), ("ample.org", false), ("", false), (",", false),
            ("a.org example.org", true), ("a.org;example.org", true), ("\texample.org\n", true), ("example.org.", true),
            ("example.org/", true), ("*.example.org:4333", true), ("*example.org", true), ("ch*.org", true),
            ("c*t.ex*e.*", true), ("*.net", false), ("<local>", false), ("nats://chat.example.org:4333", true),
            ("10.0.0.0/8", false), ("bücher.example", false),
        ])
    func exceptions(_ list: String, _ isExcepted: Bool) throws {
        let environment = ["ALL_PROXY": "socks5://env.example:1080", "NO_PROXY": list]
        #expect((try proxy([], nil, environment) == nil) == isExcepted)
        let lower = ["ALL_PROXY": "socks5://env.example:1080", "no_proxy": list]
        #expect((try proxy([], nil, lower) == nil) == isExcepted)
    }

    @Test(
        "NO_PROXY excepts addresses and networks, however they and the server are written",
        arguments: [
            ("10.1.2.3", "10.1.2.3", true), ("10.1.2.3", "10.1.2.4", false), ("10.0.0.0/8", "10.1.2.3", true),
            ("10.0.0.0/8", "11.1.2.3", false), ("10.1.2.3/32", "10.1.2.3", true), ("0.0.0.0/0", "8.8.8.8", true),
            ("10.1.2.3:4333", "10.1.2.3", true), ("10.1.2.3:1", "10.1.2.3", false), ("10.*", "10.1.2.3", true),
            ("1.2.3", "10.1.2.3", false), ("fd00::1", "[fd00::1]", true), ("[FD00:0::1]", "[fd00::1]", true),
            ("[fd00::1]:4333", "[fd00::1]", true), ("[fd00::1]:1", "[fd00::1]", false), ("fd00::/8", "[fd12::1]", true),
            ("[fd00::]/8", "[fd12::1]", true), ("fd00::/8", "[fe80::1]", false), ("fe80::1", "[fe80::1%25eth0]", true),
            ("10.0.0.0/8", "[::ffff:10.0.0.1]", true), ("<local>", "intranet", true), ("<local>", "10.1.2.3", false),
            ("intranet", "INTRANET.", true),
        ])
    func exceptedAddresses(_ list: String, _ host: String, _ isExcepted: Bool) throws {
        let environment = ["ALL_PROXY": "socks5://env.example:1080", "NO_PROXY": list]
        #expect((try proxy(["--server", "nats://\(host):4333"], nil, environment) == nil) == isExcepted)
    }

    @Test(
        "An exception that is not understood is refused by its name: what it excepts would go through the proxy",
        arguments: [
            "10.0.0.0/33", "fd00::/129", "10.0.0.0/x", "h:0", "h:x", "h:99999", "a|b", "h/path", "<-loopback>", ":1",
        ])
    func exceptionMistakes(_ list: String) throws {
        let refusal = failure(
            [], Self.away, ["ALL_PROXY": "socks5://env.example:1080", "no_proxy": "ok.example, \(list)"])
        #expect(refusal?.code == 78 && refusal?.text.hasPrefix("no_proxy has “\(list)”") == true)
        // Without a proxy there is nothing to except.
        #expect(try proxy([], nil, ["NO_PROXY": list]) == nil)
    }

    @Test("The environment's proxy may lack its scheme, and the variable in lower case wins, as with curl")
    func proxySpellings() throws {
        #expect(try proxy([], nil, ["ALL_PROXY": "env.example:3128"]) == "http://env.example:3128")
        #expect(try proxy([], nil, ["all_proxy": "socks5h://env.example"]) == "socks5://env.example:1080")
        #expect(
            try proxy([], nil, ["ALL_PROXY": "up.example:1", "all_proxy": "low.example:1"]) == "http://low.example:1")
        #expect(try proxy([], nil, ["ALL_PROXY": "up.example:1", "all_proxy": ""]) == "http://up.example:1")
        // These are for HTTP.
        #expect(try proxy([], nil, ["HTTP_PROXY": "x.example:1", "https_proxy": "http://x.example:1"]) == nil)
        for host in ["127.1", "0x7f000001", "localhost.", "a.localhost", "[0:0::1]", "[::ffff:127.0.0.1]"] {
            #expect(try proxy(["--server", "nats://\(host)"], nil, ["ALL_PROXY": "up.example:1"]) == nil, "\(host)")
        }
    }

    @Test("Several servers may stand in one text, with commas between them")
    func serverLists() throws {
        func servers(_ texts: String...) throws -> [String] {
            try RelayConfiguration.addresses(texts).map { "\($0)" }
        }
        #expect(try servers("nats://a:1,nats://b:2 , c,") == ["nats://a:1", "nats://b:2", "nats://c:4222"])
        #expect(try servers("a", "b,c") == ["nats://a:4222", "nats://b:4222", "nats://c:4222"])
        #expect(try servers("nats://me:a,b@h:1,tls://you:c@i:2") == ["nats://h:1", "tls://i:2"])
        #expect(throws: RelayError.self) { try servers(",") }
        #expect(throws: RelayError.self) { try servers("a,b c") }
        #expect(try servers("nats://a:1, tls://b:2").count == 2)
    }

    @Test(
        "An address that is none is refused where it is written, and a password is never shown and never accepted in a flag"
    )
    func proxyMistakes() {
        for bad in ["ftp://x:1", "http://x", "nonsense", "socks5://u:hush@x:1"] {
            let file = failure([], "\(Self.away), proxy: '\(bad)'")
            #expect(file?.code == 78 && file?.text.contains("hush") == false)
            #expect(failure(["--proxy", bad], Self.away)?.code == 64)
            let environment = failure([], Self.away, ["ALL_PROXY": bad])
            #expect(environment?.code == 78 && environment?.text.contains("ALL_PROXY") == true)
            #expect(environment?.text.contains("hush") == false)
        }
        let secret = failure(["--proxy", "http://me:hush@proxy.example:3128"], Self.away)
        #expect(secret?.code == 64 && secret?.text.contains("hush") == false)
        #expect(secret?.text.contains("ALL_PROXY") == true)
        #expect(failure(["--proxy", "nonsense"])?.code == 64)
        #expect(failure([], "proxy: 'nonsense'")?.code == 78)
    }

    // MARK: Session

    @Test("A session is shared unless the profile says how two devices settle it")
    func session() throws {
        #expect(try plan().sessions == .shared)
        #expect(try plan([], "session: 'shared'").sessions == .shared)
        #expect(try plan([], "session: 'take-over'").sessions == .exclusive(.takeOver))
        #expect(try plan([], "session: 'yield', device: 'desk'").sessions == .exclusive(.yield))
        #expect(try plan([], "session: 'yield', device: 'desk'").device == "desk")
        #expect(failure([], "session: 'mine'")?.code == 78)
        #expect(failure([], "session: 'mine'")?.text.contains("take-over") == true)
    }

    @Test("What stays connected takes part in it, and one piece of work does not")
    func purpose() throws {
        let plan = try plan(["--server", "nats://chat.example.org:4333"], "session: 'take-over', device: 'desk'")
        #expect(try Connector(plan).configuration.sessions == .shared)
        #expect(try Connector(plan, for: .presence).configuration.sessions == .exclusive(.takeOver))
        #expect(try Connector(plan, for: .chat(.ignore)).configuration.sessions == .exclusive(.takeOver))
        #expect(try Connector(plan).configuration.device == "desk")
    }

    @Test("B14 B32 reconnect: relayx is RelayX's window and its queue, for all that sends; others keep the queue")
    func preset() throws {
        let words = ["--server", "nats://chat.example.org:4333"]
        let plan = try plan(words, "reconnect: 'relayx'")
        for purpose in [.work, .presence, .chat(.immediate), .lines(underWay: 4)] as [Connector.Purpose] {
            let configuration = try Connector(plan, for: purpose).configuration
            #expect(configuration.reconnect == .relayx && configuration.outbox.discardsOnWindowExpiry)
        }
        for name in ["parley", "rongcloud", "supabase"] {
            let other = try Connector(self.plan(words, "reconnect: '\(name)'")).configuration
            #expect(!other.outbox.discardsOnWindowExpiry)
        }
    }

    @Test("B8 A time limit for the first connection is the profile's or the flag's, which wins")
    func connectTimeout() throws {
        let words = ["--server", "nats://chat.example.org:4333"]
        #expect(try plan(words, "").connectTimeout == nil)
        let configured = try plan(words, "connectTimeout: 2.5")
        #expect(configured.connectTimeout == .milliseconds(2_500))
        #expect(try Connector(configured).connectTimeout == .milliseconds(2_500))
        let flag = try ConnectTimeoutOption.parse(["--connect-timeout", "1m"])
        #expect(flag.applied(to: configured).connectTimeout == .seconds(60))
        #expect(try ConnectTimeoutOption.parse([]).applied(to: configured).connectTimeout == .milliseconds(2_500))
        for wrong in ["0", "-1", "soon", "nan", "1e10"] {
            #expect(throws: (any Error).self) { try ConnectTimeoutOption.parse(["--connect-timeout=\(wrong)"]) }
        }
        for wrong in ["0", "-1", "1e10", "'soon'"] {
            #expect(failure([], "connectTimeout: \(wrong)")?.code == 78, "\(wrong)")
        }
    }

    @Test("B26 handleAppLifecycle has the chat watch nothing by itself, and at a terminal it does when nothing is said")
    func lifecycle() throws {
        let words = ["--server", "nats://chat.example.org:4333"]
        for (text, isOn) in [("", nil), ("handleAppLifecycle: false", false), ("handleAppLifecycle: true", true)]
            as [(String, Bool?)]
        {
            let plan = try plan(words, text)
            #expect(plan.handlesLifecycle == isOn)
            let connector = try Connector(plan, for: .chat(.immediate))
            #expect(connector.configuration.handleAppLifecycle == (isOn ?? true))
            #expect(try !Connector(plan, for: .presence).configuration.handleAppLifecycle)
        }
        #expect(failure([], "handleAppLifecycle: 'no'")?.text.contains("is not true or false") == true)
    }

    // MARK: Store

    @Test("Each user of each network has a store of its own, for the interactive client alone")
    func store() throws {
        let environment = ["XDG_DATA_HOME": "/data"]
        #expect(try plan(["--as", "alice"], nil, environment).store == "/data/parley/stores/alice@local.sqlite")
        #expect(try plan(["--as", "Alice"], nil, environment).store == "/data/parley/stores/=41lice@local.sqlite")
        let away = try plan([], "\(Self.away), user: 'bob'", ["HOME": "/home/bob", "XDG_DATA_HOME": "relative"])
        #expect(away.store == "/home/bob/.local/share/parley/stores/bob@chat.example.org-4333.sqlite")
        #expect(try plan([], Self.away, environment).store?.contains("/anonymous@") == true)
        #expect(try plan([], "\(Self.away), token_command: 't'", environment).store == nil)
        #expect(try plan([], "\(Self.away), token_command: 't', user: 'bob'", environment).store != nil)
        #expect(try plan(["--as", "alice"], nil, [:]).store?.hasSuffix("/parley/stores/alice@local.sqlite") == true)

        let chat = try Connector(away, for: .chat(.ignore)).configuration
        #expect(chat.store == .file(away.store ?? "") && !chat.outbox.discardsOnClose)
        #expect(try Connector(away, for: .presence).configuration.store == .nowhere)
        #expect(try Connector(away).configuration.store == .nowhere)
    }

    @Test(
        "A store's name is one part of a path, whatever the names",
        arguments: ["..", "a/b", "日本", ".hidden", "a\0b", String(repeating: "x", count: 5_000), ""])
    func storeNames(_ name: String) {
        for file in [StorePlace.fileName(network: "local", user: name), StorePlace.fileName(network: name, user: "u")] {
            #expect(!file.contains("/") && !file.contains("\0") && !file.hasPrefix(".") && file.utf8.count <= 255)
            #expect(file.hasSuffix(".sqlite"))
        }
        #expect(StorePlace.fileName(network: "local", user: name) != StorePlace.fileName(network: "local", user: "u"))
        let accounts = ["A", "B", nil].map { StorePlace.fileName(network: name, user: name, account: $0) }
        #expect(Set(accounts).count == 3 && accounts.allSatisfy { $0.utf8.count <= 255 })
    }
}
