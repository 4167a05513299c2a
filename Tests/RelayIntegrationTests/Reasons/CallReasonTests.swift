import NATS
import NIOConcurrencyHelpers
import Relay
import TestSupport
import Testing

/// What the connect calls of RelayX, Nexconn and RongCloud answer when they are used wrongly, and in which order.
@Suite("Reasons: the calls", .realProcesses)
struct CallReasonTests {
    private final class Answers: Sendable {
        let all = NIOLockedValueBox<[String]>([])
        func note(_ text: String) { all.withLockedValue { $0.append(text) } }
        var list: [String] { all.withLockedValue(\.self) }
    }

    private func token(_ name: String = "alice") throws -> String {
        try UserClaims(subject: NKeyPair.generate(.user).publicKey, name: name, grant: UserGrant())
            .encode(signedBy: .generate(.account))
    }

    /// Connects in RongCloud's way and returns the callbacks' words once one of the two last has come.
    private func rongCloud(_ client: RelayClient, _ token: String, timeLimit: Int = 0) async throws -> [String] {
        let answers = Answers()
        client.connect(withToken: token, timeLimit: timeLimit) {
            answers.note("opened \($0.rawValue)")
        } success: {
            answers.note("success \($0)")
        } error: {
            answers.note("error \($0.rawValue)")
        }
        try await eventually("an answer") { answers.list.contains { !$0.hasPrefix("opened") } }
        return answers.list
    }

    @Test("B3 connect before prepare answers notInitialized, in every form")
    func unprepared() async throws {
        let pair = NKeyPair.generate(.user)
        let token = try token()
        let client = try pair.withSeedText { seed throws(RelayError) in try RelayClient(apiKey: token, secret: seed) }
        await #expect(throws: RelayError.notInitialized) { try await client.connect() }
        #expect(try await rongCloud(client, token) == ["error 33001"])
        let answers = Answers()
        client.connect(params: ConnectParams(token: token), databaseOpenedHandler: nil) { user, error in
            answers.note("\(user ?? "nobody") \(error.map { RongCloudCode($0).rawValue } ?? 0)")
        }
        try await eventually("an answer") { answers.list == ["nobody 33001"] }
        #expect(client.status.state == .initialized)
    }

    @Test("B1 B2 an empty or malformed key, secret or token is refused before any I/O")
    func malformed() async throws {
        let token = try token()
        let seed = NKeyPair.generate(.user).withSeedText { $0 }
        for (key, secret) in [("", ""), ("", seed), (token, ""), ("no.jwt", seed), (token, "SUNOSEED")] {
            do throws(RelayError) {
                _ = try RelayClient(apiKey: key, secret: secret)
                Issue.record("\(key.isEmpty) \(secret.isEmpty) was taken")
            } catch {
                guard case .invalidCredentials(let words) = error else {
                    Issue.record("\(error)")
                    continue
                }
                #expect(!words.contains("SUNOSEED") && !words.contains("no.jwt"))
            }
        }
        let client = RelayClient(configuration: RelayConfiguration(servers: .fixed([ServerAddress(host: "127.0.0.1")])))
        #expect(try await rongCloud(client, "") == ["error 31004"])
        #expect(try await rongCloud(client, "rubbish") == ["error 31004"])
        #expect(client.status.state == .initialized)
    }

    @Test("B3 prepare knows its options and refuses others", arguments: ["debug", "servers", "retries"])
    func options(key: String) throws {
        let pair = NKeyPair.generate(.user)
        let token = try token()
        let client = try pair.withSeedText { seed throws(RelayError) in try RelayClient(apiKey: token, secret: seed) }
        #expect(throws: RelayError.self) { try client.prepare(staging: false, opts: [key: 7]) }
        try client.prepare(staging: true, opts: ["debug": true, "servers": ["nats://127.0.0.1:4333"]])
    }

    @Test("B7 twenty calls share one connection, and another user is refused while it stands")
    func otherUser() async throws {
        let fixture = try await ClientFixture.start()
        let client = RelayClient(configuration: try fixture.configuration(user: nil))
        let alice = try token()
        #expect(try await rongCloud(client, alice) == ["opened 0", "success alice"])
        try await withThrowingTaskGroup(of: [String].self) { group in
            for _ in 0..<20 { group.addTask { try await rongCloud(client, alice) } }
            for try await answers in group { #expect(answers == ["opened 0", "success alice"]) }
        }
        #expect(try await rongCloud(client, token("bob")) == ["error 34001"])
        #expect(client.status.state == .connected && client.user == "alice")
        await client.close()
        #expect(try await rongCloud(client, token("bob")) == ["opened 0", "success bob"])
        await client.close()
    }

    @Test("B8 B9 the store is reported before the answer, and the time limit is RongCloud's 34006")
    func timeLimit() async throws {
        var configuration = RelayConfiguration(
            servers: .fixed(try RelayConfiguration.addresses(["nats://127.0.0.1:1"])))
        configuration.followsNetwork = false
        let folder = try TemporaryDirectory()
        configuration.store = .file(folder.url.path)
        let client = RelayClient(configuration: configuration)
        #expect(try await rongCloud(client, token(), timeLimit: 1) == ["opened 33002", "error 34006"])
        #expect(client.status.reason == .timeLimit(.seconds(1)))
    }

    @Test("A client that is released while it connects answers once, and is gone")
    func released() async throws {
        let answers = Answers()
        weak var released: RelayClient?
        do {
            var configuration = RelayConfiguration(
                servers: .fixed(try RelayConfiguration.addresses(["nats://127.0.0.1:1"])))
            configuration.followsNetwork = false
            let client = RelayClient(configuration: configuration)
            released = client
            client.connect(params: ConnectParams(token: try token())) { _, _ in
                answers.note("opened")
            } completionHandler: { user, error in
                answers.note("\(user ?? "nobody") \(error?.words ?? "")")
            }
            try await eventually("the store") { answers.list == ["opened"] }
        }
        try await eventually("the answer") { answers.list == ["opened", "nobody Cancelled."] }
        try await eventually("the release") { released == nil }
    }

    @Test("B10 an answer that does not come in time is RongCloud's 30003")
    func responseTimeout() async throws {
        let fixture = try await ClientFixture.start()
        let client = try await fixture.client()
        await client.setReachable(false)
        let pending = try client.submit(topic: "chat.room", message: "waits")
        do throws(RelayError) {
            _ = try await pending.receipt(within: .milliseconds(10))
            Issue.record("a receipt without a server")
        } catch {
            #expect(RongCloudCode(error).rawValue == 30_003)
        }
        #expect(RongCloudCode(RelayError.invalidArgument("x")).rawValue == 33_003)
    }
}
