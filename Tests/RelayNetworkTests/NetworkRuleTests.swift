import NATS
import Platform
import Relay
import TestSupport
import Testing

@testable import RelayNetwork

@Suite("Network: rules")
struct NetworkRuleTests {
    @Test("A user's name is 1 to 64 of the allowed characters")
    func userNames() throws {
        for text in ["a", "alice", "A+b=c_d-9", "_x", "7", String(repeating: "x", count: 64)] {
            #expect(try UserName(text).text == text)
        }
        for text in [
            "", "a.b", "a b", "a/b", "..", "ä", "a*", ">", "a\n", "~service", String(repeating: "x", count: 65),
            "-x", "--help", "-", "=", "=a", "+1",
        ] {
            #expect(throws: NetworkError.invalidUserName(text)) { try UserName(text) }
        }
        #expect(try UserName("a+b=2B").key == "a=2Bb=3D2B")
        #expect(try UserName("a+b").key != UserName("a=2Bb").key)
    }

    @Test("A grant that the server could not hold is refused")
    func grants() throws {
        let alice = try UserName("alice")
        for topic in ["*", "chat.*", "a.*.*", "", "a..b", "$SYS.>", "a b", "CONNECTED", ">.a"] {
            #expect(throws: NetworkError.self, "\(topic)") {
                try UserPermissions(user: alice, rights: AccessRights(topics: [topic]), namespace: "n", hash: "h")
            }
        }
        let both = try UserPermissions(
            user: alice, rights: AccessRights(topics: ["chat.a", "chat.>", "a.*.b"]), namespace: "n", hash: "h")
        #expect(both.rights.subscribe == ["chat.>", "a.*.b"])
        // A message on a topic of both would come twice.
        #expect(throws: NetworkError.self) {
            try UserPermissions(
                user: alice, rights: AccessRights(topics: ["a.*.b", "a.x.>"]), namespace: "n", hash: "h")
        }
    }

    @Test("An act waits where there is no leader, whoever says so, and not where it is refused")
    func patience() {
        func failure(_ code: Int) -> NetworkError {
            .connection(.jetStream(JetStreamFailure(code: 503, errorCode: code, text: "no")))
        }
        #expect(NetworkError.connection(.noResponders(subject: "a")).isWithoutAnswer && failure(10_008).isWithoutAnswer)
        #expect(!failure(JetStreamFailure.wrongLastSequence).isWithoutAnswer)
        #expect(!NetworkError.refused("no").isWithoutAnswer)
    }

    @Test("A server that ends is started at once, then ever later, and not for ever")
    func restarts() {
        var policy = RestartPolicy()
        let first = policy.delay(afterLifetime: .seconds(60), didAnswer: true)
        let second = policy.delay(afterLifetime: .seconds(60), didAnswer: true)
        #expect(first == .zero && second == .zero)
        var delays: [Duration] = []
        while let delay = policy.delay(afterLifetime: .milliseconds(50), didAnswer: true) { delays.append(delay) }
        #expect(delays == [100, 200, 400, 800, 1600, 3200].map { .milliseconds($0) })
        let afterGood = policy.delay(afterLifetime: .seconds(60), didAnswer: true)
        #expect(afterGood == .zero)
        var silent = RestartPolicy()
        let silentDelays = (0..<3).map { _ in silent.delay(afterLifetime: .milliseconds(50), didAnswer: false) }
        #expect(silentDelays == [.zero, .milliseconds(100), nil])
    }

    @Test("B51: a postbox is created once, switched, deleted, and named like a subject token")
    func register() throws {
        var register = PostboxRegister(sudoId: "s", at: 1)
        let alice = try UserName("alice")
        #expect(register.subjects(of: alice) == ["postbox.alice.personal.*"])
        let work = try register.apply(.create, .init(name: "work", sudoId: "t"), at: 2)
        let shop = try register.apply(.create, .init(name: "shop"), at: 2)
        #expect(work.sudoId == "t" && shop.sudoId == "s")
        #expect(register.subjects(of: alice) == ["personal", "work", "shop"].map { "postbox.alice.\($0).*" })
        #expect(refusal(.create, "work", &register) == .exists)
        #expect(refusal(.enable, "none", &register) == .notFound)
        for name in ["", "a.b", "*", ">", "a b", "ü", String(repeating: "x", count: 65)] {
            #expect(refusal(.create, name, &register) == .invalidName)
        }
        for name in ["personal", "work", "shop"] {
            let entry = try register.apply(.disable, .init(name: name), at: 3)
            #expect(!entry.isEnabled)
        }
        #expect(register.subjects(of: alice) == ["postbox-none.alice.*"])
        let enabled = try register.apply(.enable, .init(name: "work"), at: 3)
        let deleted = try register.apply(.delete, .init(name: "work"), at: 3)
        #expect(enabled.isEnabled && deleted.name == "work")
        #expect(register.postboxes.map(\.name) == ["personal", "shop"])
        for index in register.postboxes.count..<PostboxRegister.limit {
            _ = try register.apply(.create, .init(name: "p\(index)"), at: 4)
        }
        #expect(refusal(.create, "one-more", &register) == .limitExceeded)
    }

    @Test("A postbox is called something else while its address stays, and no two are called the same")
    func titles() throws {
        var register = PostboxRegister(sudoId: "s", at: 1)
        let alice = try UserName("alice")
        _ = try register.apply(.create, .init(name: "work"), at: 2)
        let named = try register.apply(.rename, .init(name: "work", title: "Orders, old"), at: 3)
        #expect(named.title == "Orders, old" && named.name == "work" && named.id == "work")
        #expect(register.subjects(of: alice) == ["postbox.alice.personal.*", "postbox.alice.work.*"])
        // Its own title is not taken.
        let again = try register.apply(.rename, .init(name: "work", title: "Orders, old"), at: 3)
        #expect(again == named)
        for taken in ["work", "Orders, old", "wo\u{200D}rk", "Orders,\u{200C} old"] {
            #expect(refusal(.rename, "personal", &register, title: taken) == .titleTaken)
        }
        for text in [
            nil, "", " ", "two\nlines", " led by a blank", "a\u{1B}[2J", "\u{200B}", String(repeating: "x", count: 129),
        ] {
            #expect(refusal(.rename, "work", &register, title: text) == .invalidTitle)
        }
        #expect(refusal(.rename, "none", &register, title: "Orders") == .notFound)
        #expect(refusal(.rename, "work", &register, title: "Orders", of: "t") == .notFound)
        // Nor is a new one called as another is.
        _ = try register.apply(.rename, .init(name: "work", title: "shop"), at: 3)
        #expect(refusal(.create, "shop", &register) == .exists)
        let plain = try register.apply(.rename, .init(name: "work", title: "work"), at: 3)
        #expect(plain.title == nil)
        _ = try register.apply(.create, .init(name: "shop"), at: 4)
    }

    private func refusal(
        _ change: PostboxRegister.Change, _ name: String, _ register: inout PostboxRegister, title: String? = nil,
        of persona: String? = nil
    ) -> PostboxReply.Failure? {
        do throws(PostboxReply.Failure) {
            _ = try register.apply(change, .init(name: name, sudoId: persona, title: title), at: 9)
            return nil
        } catch {
            return error
        }
    }

    @Test("A person's postboxes are full with as many letters as they may hold, or with bytes for no more")
    func fullPostboxes() throws {
        func isFull(_ bounds: String, messages: Int, bytes: Int) throws -> Bool {
            let text = """
                {"config":{"name":"PB_alice"\(bounds)},"created":"2026-01-02T03:04:05Z",
                 "state":{"messages":\(messages),"bytes":\(bytes),"first_seq":1,"last_seq":9}}
                """
            return try JSONDecoder().decode(StreamInfo.self, from: Data(text.utf8)).isFull
        }
        let bounds = #","max_msgs":3,"max_bytes":1000"#
        #expect(try !isFull(bounds, messages: 2, bytes: 900))
        #expect(try isFull(bounds, messages: 3, bytes: 10))
        #expect(try isFull(bounds, messages: 1, bytes: 990))
        for none in ["", #","max_msgs":-1,"max_bytes":-1"#] {
            #expect(try !isFull(none, messages: 1_000_000, bytes: 1 << 40))
        }
    }

    @Test("How often stored messages are forced onto the disk is written where the server takes it, within JetStream")
    func syncInterval() throws {
        func lines(_ interval: Int64?) throws -> [String] {
            let text = ServerConfiguration(
                port: 1, operatorToken: "o", systemAccount: "s", resolver: "/r", store: "/s", processFile: "/p",
                syncInterval: interval
            ).text
            let section = try #require(text.split(separator: "jetstream: {").last?.split(separator: "}").first)
            return section.split(separator: "\n").map { $0.trimmingPrefix { $0 == " " } }.map(String.init)
        }
        #expect(try lines(5).contains(#"sync_interval: "5s""#))
        #expect(try lines(3_600).contains(#"sync_interval: "3600s""#))
        #expect(try lines(5).contains(#"store_dir: "/s""#))
        #expect(try !lines(nil).contains { $0.contains("sync_interval") })
    }

    @Test("A network listens on this machine as it likes, and beyond it with TLS alone")
    func listening() throws {
        for (text, host, port) in [
            ("127.0.0.1:7000", "127.0.0.1", 7_000), ("localhost", "127.0.0.1", 4_222),
            ("127.9.9.9", "127.9.9.9", 4_222), ("[::1]:7000", "::1", 7_000),
        ] {
            let listener = try NetworkListener(listen: text)
            #expect(listener.host == host && listener.port == port && listener.isLoopback && listener.tls == nil)
            #expect(try listener.localAddress() == ServerAddress(host: host, port: port))
        }
        for text in ["0.0.0.0:7000", "[::]:7000", "192.0.2.1", "128.0.0.1"] {
            let error = #expect(throws: NetworkError.self) { try NetworkListener(listen: text) }
            #expect(error?.description.contains("--tls-cert") == true, "\(text)")
        }
        for text in ["", "chat.example.org:7000", "127.0.0.1:0", "127.0.0.1:70000", "tls://127.0.0.1", "a@127.0.0.1"] {
            let error = #expect(throws: NetworkError.self) { try NetworkListener(listen: text) }
            #expect(error?.description.contains("IP address") == true, "\(text)")
        }
        let missing = NetworkListener.TLS(certificateFile: "/nowhere/cert.pem", keyFile: "/nowhere/key.pem")
        let error = #expect(throws: NetworkError.self) { try NetworkListener(listen: "0.0.0.0", tls: missing) }
        #expect(error?.description.contains("/nowhere/cert.pem") == true)
    }

    @Test("What somebody wrote by hand has the network listen beyond this machine with TLS alone, too")
    func listenerFile() throws {
        let folder = try TemporaryDirectory()
        let directory = NetworkDirectory(path: folder.path)
        #expect(try directory.listener() == nil)
        try directory.keep(NetworkListener(listen: "127.0.0.1:7000"))
        #expect(try directory.listener()?.port == 7_000)
        try folder.write(#"{"host":"0.0.0.0","port":7000}"#, to: "listener.json")
        #expect(throws: NetworkError.self) { try directory.listener() }
        try directory.keep(nil)
        #expect(try directory.listener() == nil)
    }

    @Test("The server listens at 127.0.0.1 in clear, or where and with what it was told to")
    func listenerConfiguration() {
        var configuration = ServerConfiguration(
            port: 7, operatorToken: "o", systemAccount: "s", resolver: "/r", store: "/s", processFile: "/p")
        #expect(configuration.text.contains("host: \"127.0.0.1\"\nport: 7\nserver_name"))
        configuration.host = "::"
        configuration.tls = .init(certificateFile: "/a \"b\"", keyFile: "/k")
        #expect(
            configuration.text.contains(
                "host: \"::\"\nport: 7\ntls: { cert_file: \"/a \\\"b\\\"\", key_file: \"/k\", timeout: 20 }\n"))
    }

    @Test("What answers requests may publish to no subject but those of answers, which the server makes")
    func answering() throws {
        let answering = HostRole.answering.permissions
        #expect(answering.pub?.allow == ["_R_.>", "_INBOX_~observer.>"] && answering.resp == nil)
        for subject in [
            "$JS.API.STREAM.PURGE.PB_bob", "$JS.API.INFO", "$JS.ACK.PB_bob.c.1.1.1.1.0", "$KV.relay_postboxes.bob",
            "postbox.bob.personal.~parley", "relay.control.bob", "relay.postbox.bob.list", "H.chat.a", "_INBOX.x",
            "_INBOX_~keeping.x", "$SYS.REQ.CLAIMS.UPDATE",
        ] {
            #expect(answering.pub?.permits(subject) == false, "\(subject)")
        }
        // It hears the services' subjects and its own answers, and the other role hears no request.
        for subject in NetworkServices.subjects + ServiceDiscovery.subjects {
            #expect(answering.sub?.permits(subject) == true, "\(subject)")
            #expect(HostRole.keeping.permissions.sub?.permits(subject) == false, "\(subject)")
        }
        #expect(answering.sub?.permits("$JS.EVENT.ADVISORY.API") == false)
        #expect(HostRole.keeping.permissions.pub?.permits("_R_.x") == false)
    }
}
