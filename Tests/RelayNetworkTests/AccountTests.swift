import NATS
import Platform
import Relay
import TestSupport
import Testing

@testable import RelayNetwork

@Suite("Accounts: what a user imports")
struct UserPermissionsTests {
    private let network = NKeyPair.generate(.account).publicKey

    private func imports(_ topics: [String]) throws -> [String] {
        try UserPermissions(user: UserName("alice"), rights: AccessRights(topics: topics), namespace: "N", hash: "H")
            .imports(from: network)
            .map { "\($0.kind.rawValue) \($0.subject)" + ($0.localSubject.map { " as \($0)" } ?? "") }
    }

    @Test("One import for each thing that the user may do, and nothing else")
    func granted() throws {
        let calls = [
            "INFO", "STREAM.INFO.PB_alice", "STREAM.MSG.GET.PB_alice", "DIRECT.GET.PB_alice", "DIRECT.GET.PB_alice.>",
            "CONSUMER.CREATE.PB_alice", "CONSUMER.CREATE.PB_alice.>", "CONSUMER.MSG.NEXT.PB_alice.*",
            "CONSUMER.INFO.PB_alice.*", "CONSUMER.DELETE.PB_alice.*", "STREAM.MSG.DELETE.PB_alice",
            "CONSUMER.CREATE.N_stream.*.H.chat.>", "DIRECT.GET.N_stream.H.chat.>", "CONSUMER.MSG.NEXT.N_stream.*",
            "CONSUMER.INFO.N_stream.*", "CONSUMER.DELETE.N_stream.*", "STREAM.INFO.KV_N", "STREAM.MSG.GET.KV_N",
            "DIRECT.GET.KV_N", "DIRECT.GET.KV_N.>", "CONSUMER.CREATE.KV_N", "CONSUMER.CREATE.KV_N.>",
            "CONSUMER.MSG.NEXT.KV_N.*", "CONSUMER.INFO.KV_N.*", "CONSUMER.DELETE.KV_N.*",
            "DIRECT.GET.KV_relay_sessions.$KV.relay_sessions.alice",
            "CONSUMER.CREATE.KV_relay_sessions.*.$KV.relay_sessions.alice", "CONSUMER.MSG.NEXT.KV_relay_sessions.*",
            "CONSUMER.INFO.KV_relay_sessions.*", "CONSUMER.DELETE.KV_relay_sessions.*",
            "CONSUMER.CREATE.KV_relay_here.*.$KV.relay_here.*.*.chat.>", "CONSUMER.MSG.NEXT.KV_relay_here.*",
            "CONSUMER.INFO.KV_relay_here.*", "CONSUMER.DELETE.KV_relay_here.*",
        ].map { "service $JS.API.\($0) as net.API.\($0)" }
        let others = [
            "service $JS.ACK.PB_alice.>", "service $JS.ACK.N_stream.>", "service $JS.ACK.KV_N.>", "service H.chat.>",
            "service relay.postbox.alice.*", "service relay.recipient.*.*", "service accounts.user.get_namespace",
            "service relay.enrol.alice",
            "service $KV.N.>", "service $KV.relay_sessions.alice", "service $KV.relay_here.alice.*.chat.>",
            "service postbox.*.*.alice as postbox.$1.$2", "service relay.streams.alice as net.API.STREAM.NAMES",
            "stream relay.control.alice",
        ]
        #expect(try Set(imports(["chat.>"])) == Set(calls + others))
        #expect(try imports(["chat.>"]).count == calls.count + others.count)
    }

    @Test("A user is told the streams that it may read, or the one that holds a subject, and no other user's")
    func streamNames() throws {
        struct Reply: Decodable {
            var type: String
            var total: Int
            var offset: Int
            var limit: Int
            var streams: [String]
        }
        let names = NetworkIdentity.Names(namespace: "N", hash: "H")
        func streams(_ request: String) throws -> [String] {
            let answer = try NamespaceService.streams(of: UserName("alice"), asked: Array(request.utf8), names)
            let reply = try JSONDecoder().decode(Reply.self, from: Data(answer))
            #expect(reply.type == "io.nats.jetstream.api.v1.stream_names_response")
            #expect(reply.total == reply.streams.count && reply.offset == 0 && reply.limit >= reply.total)
            return reply.streams
        }
        for all in ["", "{}", "{\"offset\":0}", "nonsense", #"{"subject":">"}"#, #"{"subject":""}"#] {
            #expect(try streams(all) == ["N_stream", "PB_alice", "KV_N"], "\(all)")
        }
        for (subject, stream) in [
            ("H.chat.room", "N_stream"), ("H.>", "N_stream"), ("postbox.alice.work.*", "PB_alice"),
            ("$KV.N.key", "KV_N"),
        ] {
            #expect(try streams("{\"subject\":\"\(subject)\"}") == [stream], "\(subject)")
        }
        for subject in ["postbox.bob.personal.*", "HH.x", "$KV.relay_sessions.bob", "relay.control.bob"] {
            #expect(try streams("{\"subject\":\"\(subject)\"}").isEmpty, "\(subject)")
        }
    }

    @Test("Who may read everything may ask about the whole stream, and hear consumers that push")
    func everything() throws {
        let found = try imports([">", "chat.a"])
        for subject in ["STREAM.INFO.N_stream", "STREAM.MSG.GET.N_stream", "CONSUMER.CREATE.N_stream.>"] {
            #expect(found.contains("service $JS.API.\(subject) as net.API.\(subject)"), "\(subject)")
        }
        #expect(found.contains("service H.>") && found.contains("stream _INBOX.>"))
        #expect(!found.contains("service H.chat.a"))
    }

    @Test(
        "B66: No import lies within another one, and the network exports each, with an end to what is never answered",
        arguments: [[">"], ["chat.>", "a.*.b"]])
    func apart(topics: [String]) throws {
        let permissions = try UserPermissions(
            user: UserName("alice"), rights: AccessRights(topics: topics), namespace: "N", hash: "H")
        let imports = permissions.imports(from: network)
        for kind in [AccountExchangeKind.service, .stream] {
            let used = imports.filter { $0.kind == kind }.map(\.usedSubject)
            for (index, one) in used.enumerated() {
                for other in used[(index + 1)...] {
                    #expect(!SubjectPattern.covers(one, other) && !SubjectPattern.covers(other, one), "\(one) \(other)")
                }
            }
        }
        let exports = NetworkAccount.exports(hash: "H")
        for item in imports {
            #expect(
                exports.contains { $0.kind == item.kind && SubjectPattern.covers($0.subject, item.subject) },
                "\(item.subject)")
        }
        // One answer ends the server's memory of a request; pulls and batches alone have more.
        let thresholds: [String: Int64] = [
            "$JS.API.CONSUMER.MSG.NEXT.>": 120_000_000_000, "$JS.API.DIRECT.GET.*": 10_000_000_000,
        ]
        for export in exports where export.kind == .service {
            let threshold = thresholds[export.subject]
            #expect(export.responseType == (threshold == nil ? .single : .stream), "\(export.subject)")
            #expect(export.responseThreshold == threshold ?? 30_000_000_000)
            // Which of two exports a request is for has to be certain.
            for other in exports where other.kind == .service && other.subject != export.subject {
                #expect(!SubjectPattern.overlaps(export.subject, other.subject), "\(export.subject) \(other.subject)")
            }
        }
        // What the server says of a refusal comes from here; it names no more than the imports do.
        let defaults = permissions.defaults(network: network)
        for subject in defaults.pub?.allow ?? [] where subject != "$JS.API.>" {
            #expect(imports.contains { $0.usedSubject == subject }, "\(subject)")
        }
    }

    @Test("The usual prefix is mapped whole, or token by token for servers that know no better")
    func mappings() {
        #expect(UserPermissions.mappings(.wildcards) == ["$JS.API.>": [SubjectMapping(to: "net.API.>")]])
        let tokens = UserPermissions.mappings(.tokens)
        #expect(tokens.count == 20 && tokens["$JS.API.*.*"] == [SubjectMapping(to: "net.API.$1.$2")])
        for version in ["2.9.25", nil] {
            let program = ServerProgram(path: "", version: version)
            #expect(!program.isRecent)
        }
        for version in ["2.10.0", "2.15.1-beta", "3.0.0"] {
            let program = ServerProgram(path: "", version: version)
            #expect(program.isRecent)
        }
    }

    @Test("A server that cannot be run for a moment is asked for its version again, and not for ever")
    func version() async {
        func examined(_ answers: [Result<String?, ShellCommandError>]) async -> (version: String?, asked: Int) {
            var asked = 0
            let program = await ServerProgram.examine("/nats-server", pause: .zero) { path throws(ShellCommandError) in
                #expect(path == "/nats-server")
                asked += 1
                return try answers[min(asked, answers.count) - 1].get()
            }
            return (program.version, asked)
        }
        let busy = Result<String?, ShellCommandError>.failure(.failed(126, "Text file busy"))
        #expect(await examined([busy, busy, .success("2.9.10")]) == ("2.9.10", 3))
        #expect(await examined([busy]) == (nil, ServerProgram.tries))
        // What runs and says nothing, or does not end, is no better the next time.
        #expect(await examined([.success(nil), .success("2.9.10")]) == (nil, 1))
        #expect(await examined([.failure(.timedOut(.seconds(10))), .success("2.9.10")]) == (nil, 1))
    }

    @Test("B60: a user who is kept out has an account with one door, until nothing keeps the user out")
    func standing() throws {
        let folder = try TemporaryDirectory()
        let directory = NetworkDirectory(path: folder.path + "/local")
        _ = try directory.credentials(for: "alice")
        let alice = try UserName("alice")
        func claims() throws -> AccountClaims {
            let account = try directory.knownRecord(of: alice).account
            let token = try #require(try PrivateFile.read(directory.tokenPath(ofAccount: account)))
            return try AccountClaims.verify(String(decoding: token, as: UTF8.self))
        }
        func hasDoorOnly() throws -> Bool {
            let (claims, grant) = (try claims(), try claims().grant)
            return grant.imports?.map(\.subject) == ["accounts.user.get_namespace"] && grant.mappings == nil
                && grant.defaultPermissions?.pub?.allow == ["accounts.user.get_namespace"]
                && grant.defaultPermissions?.sub?.allow == ["_INBOX.>"]
                && grant.limits.conn == 2 && grant.limits.diskStorage == 0 && claims.expires == nil
        }
        func isOpen() throws -> Bool {
            try claims().grant.limits.conn == 100 && claims().grant.imports?.count ?? 0 > 20
        }
        #expect(try claims().name == "alice" && claims().grant.limits.diskStorage == 0 && isOpen())
        for mark in [\UserRecord.standing.banned, \.standing.deactivated] {
            _ = try directory.changeUser(alice) { $0[keyPath: mark] = .init(since: 0, reason: nil) }
            #expect(try hasDoorOnly())
            _ = try directory.changeUser(alice) { $0[keyPath: mark] = nil }
            #expect(try isOpen())
        }
        _ = try directory.changeUser(alice) { $0.expires = 1 }
        #expect(try hasDoorOnly())
        _ = try directory.changeUser(alice) { $0.expires = 4_102_444_800 }
        #expect(try isOpen() && claims().expires == 4_102_444_800)
        // A mark that cannot be read blocks too.
        try PrivateFile.write([], to: directory.blockMarker)
        _ = try directory.changeUser(alice) { _ in }
        #expect(try hasDoorOnly() && directory.block() == .init(since: 0))
    }
}

@Suite("Services: whose turn it is")
struct RequestQueueTests {
    @Test("Who asks much waits behind itself, and is refused when too much waits")
    func fairness() {
        var queue = RequestQueue<String, Int>(concurrency: 4, concurrencyOfOne: 2, waitingOfOne: 3)
        func verdicts(_ asker: String, _ count: Int) -> String {
            (0..<count).map { number in
                switch queue.arrived(number, from: asker) {
                case .start: "s"
                case .wait: "w"
                case .refuse: "r"
                }
            }.joined()
        }
        #expect(verdicts("mallory", 8) == "sswwwrrr")
        #expect(verdicts("alice", 1) == "s")
        #expect(verdicts("bob", 2) == "sw")
        // Mallory's next has to wait for mallory's own; bob's takes the place that alice leaves.
        #expect(queue.finished("alice").map(\.asker) == ["bob"])
        #expect(queue.finished("mallory").map(\.asker) == ["mallory"])
        #expect(queue.finished("bob").map(\.asker) == [])
    }

    @Test("Every request that was taken is worked on once, in its asker's order")
    func completeness() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            var queue = RequestQueue<Int, Int>(concurrency: 3, concurrencyOfOne: 2, waitingOfOne: 5)
            var (taken, begun): ([Int: [Int]], [Int: [Int]]) = ([:], [:])
            var running: [Int] = []
            var number = 0
            func begin(_ asker: Int, _ request: Int) {
                begun[asker, default: []].append(request)
                running.append(asker)
            }
            while number < 60 || !running.isEmpty {
                if number < 60, Bool.random(using: &generator) || running.isEmpty {
                    let asker = Int.random(in: 0..<4, using: &generator)
                    switch queue.arrived(number, from: asker) {
                    case .start:
                        taken[asker, default: []].append(number)
                        begin(asker, number)
                    case .wait: taken[asker, default: []].append(number)
                    case .refuse: break
                    }
                    number += 1
                } else {
                    let asker = running.remove(at: Int.random(in: 0..<running.count, using: &generator))
                    for next in queue.finished(asker) { begin(next.asker, next.request) }
                }
                #expect(running.count <= 3)
            }
            #expect(taken == begun)
        }
    }
}

@Suite("Host: guards")
struct GuardTests {
    @Test("A full disk stops storing once, and a little more room than was missed starts it again")
    func disk() {
        var disk = DiskGuard(reserved: 800, isFresh: true)
        #expect(
            [900, 800, 799, 700, 850, 899, 900, 1_000].map { disk.observe(free: $0) } == [
                nil, nil, false, nil, nil, nil, true, nil,
            ])
        _ = disk.observe(free: 0)
        disk.forget()
        #expect(disk.observe(free: 0) == false)
    }

    @Test(
        "A server that may have been told that the disk is full is told anew, whether it is or not",
        arguments: [true, false])
    func diskOfOldServer(isFull: Bool) {
        var disk = DiskGuard(reserved: 800, isFresh: false)
        let free: Int64 = isFull ? 700 : 800
        #expect(disk.observe(free: free) == !isFull)
        #expect(disk.observe(free: free) == nil)
    }

    @Test("A consumer that pushes to anything but an inbox, or pushes letters, is found, as the server made it")
    func pushing() {
        func offender(_ call: String, _ target: String?, in stream: String = "S") -> String? {
            let config = target.map { #"{"deliver_subject":"\#($0)"}"# } ?? "{}"
            let response = #"{"stream_name":"\#(stream)","name":"c","num_pending":0,"config":\#(config)}"#
            let escaped = response.replacing("\"", with: "\\\"")
            let report = #"{"subject":"\#(call)","request":"{}","response":"\#(escaped)"}"#
            let made = PushConsumerGuard.made(Array(report.utf8))?.consumer
            return made.flatMap { PushConsumerGuard.isOffender($0) ? "\($0.stream).\($0.name)" : nil }
        }
        let call = "$JS.API.CONSUMER.CREATE.S.c"
        #expect(offender(call, "relay.control.bob") == "S.c")
        #expect(offender(call, "_INBOX_~keeping.x") == "S.c")
        #expect(offender(call, "_INBOX.x") == nil && offender(call, nil) == nil && offender(call, "") == nil)
        #expect(offender(call, "_INBOX.x", in: "PB_bob") == "PB_bob.c" && offender(call, nil, in: "PB_bob") == nil)
        #expect(offender("$JS.API.STREAM.CREATE.S", "relay.control.bob") == nil)
        #expect(PushConsumerGuard.made(Array("{".utf8)) == nil)
    }

    @Test("Settings have standard values where the file is silent, and say what is wrong with a value")
    func settings() throws {
        let folder = try TemporaryDirectory()
        let directory = NetworkDirectory(path: folder.path + "/local")
        try directory.prepare()
        #expect(try directory.settings() == NetworkSettings())
        try PrivateFile.write(Array(#"{"syncInterval":60}"#.utf8), to: directory.settingsFile)
        #expect(try directory.settings().syncInterval == 60 && directory.settings().topics == NetworkSettings().topics)
        try PrivateFile.write(Array(#"{"users":{"connections":7}}"#.utf8), to: directory.settingsFile)
        #expect(try directory.settings().users.connections == 7 && directory.settings().users.payload == 1 << 20)
        let million = #"{"maximumLetters":1000000,"postboxes":{"maximumBytes":4294967296}}"#
        try PrivateFile.write(Array(million.utf8), to: directory.settingsFile)
        #expect(try directory.settings().maximumLetters == 1_000_000)
        #expect(try directory.settings().postboxes.maximumBytes == 4 << 30)
        for text in [
            #"{"syncInterval":0}"#, #"{"users":{"connections":0}}"#, #"{"users":{"conections":9}}"#, "[]", "", "{",
            #"{"topics":7}"#, #"{"topics":{"maximumAge":9223372036854775807}}"#,
            #"{"reservedDiskBytes":9223372036854775807}"#,
        ] {
            try PrivateFile.write(Array(text.utf8), to: directory.settingsFile)
            #expect(throws: NetworkError.self, "\(text)") { try directory.settings() }
        }
    }
}
