import NATS
import TestSupport
import Testing

@testable import Relay

/// What the connect calls of RelayX, Nexconn and RongCloud answer when they are used wrongly, and in which order.
@Suite("Reasons: the calls", .realProcesses)
struct CallReasonTests {
    /// Connects in RongCloud's way; the callbacks' words come one by one.
    private func begin(_ client: RelayClient, _ token: String, timeLimit: Int = 0) -> Collected {
        let answers = Collected()
        client.connect(withToken: token, timeLimit: timeLimit) {
            answers.add("opened \($0.rawValue)")
        } success: {
            answers.add("success \($0)")
        } error: {
            answers.add("error \($0.rawValue)")
        }
        return answers
    }

    /// The callbacks' words once one of the two last has come.
    private func end(_ answers: Collected) async throws -> [String] {
        try await eventually("an answer") { answers.all.contains { !$0.hasPrefix("opened") } }
        return answers.all
    }

    private func rongCloud(_ client: RelayClient, _ token: String) async throws -> [String] {
        try await end(begin(client, token))
    }

    /// Connects in Nexconn's way; the answer is the user and RongCloud's code.
    private func nexconn(_ client: RelayClient, _ params: ConnectParams) -> Collected {
        let answers = Collected()
        client.connect(params: params, databaseOpenedHandler: nil) { user, error in
            answers.add("\(user ?? "nobody") \(error.map { RongCloudCode($0).rawValue } ?? 0)")
        }
        return answers
    }

    /// A client as RelayX's callers make one.
    private func relayX(_ token: String) throws -> RelayClient {
        try NKeyPair.generate(.user).withSeedText { seed throws(RelayError) in
            try RelayClient(apiKey: token, secret: seed)
        }
    }

    @Test("B3 connect before prepare answers notInitialized, in every form")
    func unprepared() async throws {
        let token = try UserToken.text()
        let client = try relayX(token)
        await #expect(throws: RelayError.notInitialized) { try await client.connect() }
        #expect(try await rongCloud(client, token) == ["error 33001"])
        let answers = nexconn(client, ConnectParams(token: token))
        try await eventually("an answer") { answers.all == ["nobody 33001"] }
        #expect(client.status.state == .initialized)
    }

    @Test("B1 B2 an empty or malformed key, secret or token is refused before any I/O")
    func malformed() async throws {
        let token = try UserToken.text()
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
        #expect(throws: RelayError.self) { try RelayCredentials.accessToken(" \t\n") }
        #expect(throws: RelayError.self) { try RelayCredentials.file("/nonexistent.creds") }
        let network = try MemoryNetwork()
        let client = network.client()
        #expect(try await rongCloud(client, "") == ["error 31004"])
        #expect(try await rongCloud(client, "rubbish") == ["error 31004"])
        #expect(client.status.state == .initialized && network.server.dials == 0)
    }

    @Test("B3 prepare knows its options and refuses others", arguments: ["debug", "servers", "retries"])
    func options(key: String) throws {
        let client = try relayX(UserToken.text())
        #expect(throws: RelayError.self) { try client.prepare(staging: false, opts: [key: 7]) }
        try client.prepare(staging: true, opts: ["debug": true, "servers": ["nats://127.0.0.1:4333"]])
    }

    @Test("B14 B32 a client of RelayX's has its window and its queue, and no other policy")
    func relayXPresets() throws {
        let client = try relayX(UserToken.text())
        let configuration = client.settings.withLockedValue(\.configuration)
        #expect(configuration.reconnect == .relayx && configuration.outbox == .relayx)
        #expect(configuration.user == MemoryNetwork.user)
    }

    @Test(
        "B10 a token whose user cannot be one is RongCloud's 33003, in every form, before the network is touched",
        arguments: ["no user", "a.b", "*", String(repeating: "a", count: 65)])
    func impossibleUser(name: String) async throws {
        let network = try MemoryNetwork()
        let client = network.client(network.configuration(user: nil))
        let token = try UserToken.text(for: name)
        #expect(try await rongCloud(client, token) == ["error 33003"])
        let answers = nexconn(client, ConnectParams(token: token))
        try await eventually("an answer") { answers.all == ["nobody 33003"] }
        #expect(network.server.dials == 0 && client.status.state == .initialized)
        // Where the application says who it is, the token need not.
        let named = network.client()
        #expect(try await rongCloud(named, token) == ["opened 0", "success alice"])
        await named.close()
    }

    @Test("B8 Nexconn's timeout is in seconds, ends the attempt as Timeout, and is RongCloud's 34006")
    func nexconnTimeout() async throws {
        let network = try MemoryNetwork()
        network.server.refuseDials(with: .connectionRefused("nobody listens"))
        let client = network.client(network.configuration(user: nil))
        let params = ConnectParams(token: try UserToken.text())
        params.timeout = 2
        let answers = nexconn(client, params)
        try await eventually("the attempt") { client.status.state == .connecting }
        network.time.advance(by: .milliseconds(1_999))
        #expect(client.status.state == .connecting && answers.all.isEmpty)
        network.time.advance(by: .milliseconds(1))
        try await eventually("the answer") { answers.all == ["nobody 34006"] }
        #expect(NexconnConnectionStatus(client.status).rawValue == 14)
        #expect(client.status.reason?.timeLimit == .seconds(2))
        // No clock can wait for as long as an Int has seconds.
        let endless = network.client()
        let waiting = Task { try await endless.connect(timeLimit: .max) }
        try await eventually("the limit") { network.time.waits.contains(.seconds(1_000_000_000)) }
        await endless.close()
        await #expect(throws: RelayError.self) { try await waiting.value }
    }

    @Test("B7 twenty calls share one connection, and another user is refused while it is open")
    func otherUser() async throws {
        let network = try MemoryNetwork()
        let client = network.client(network.configuration(user: nil))
        let alice = try UserToken.text()
        #expect(try await rongCloud(client, alice) == ["opened 0", "success alice"])
        try await withThrowingTaskGroup(of: [String].self) { group in
            for _ in 0..<20 { group.addTask { try await rongCloud(client, alice) } }
            for try await answers in group { #expect(answers == ["opened 0", "success alice"]) }
        }
        #expect(try await rongCloud(client, UserToken.text(for: "bob")) == ["error 34001"])
        #expect(client.status.state == .connected && client.user == "alice")
        #expect(network.server.dials == 1)
        await client.close()
        #expect(try await rongCloud(client, UserToken.text(for: "bob")) == ["opened 0", "success bob"])
        await client.close()
    }

    @Test("B8 B9 the store is reported before the answer, and the time limit is RongCloud's 34006")
    func timeLimit() async throws {
        let network = try MemoryNetwork()
        network.server.refuseDials(with: .connectionRefused("nobody listens"))
        let folder = try TemporaryDirectory()
        var configuration = network.configuration(user: nil)
        configuration.store = .file(folder.url.path)
        let client = network.client(configuration)
        let answers = begin(client, try UserToken.text(), timeLimit: 1)
        try await eventually("the attempt") { client.status.state == .connecting }
        network.time.advance(by: .seconds(1))
        #expect(try await end(answers) == ["opened 33002", "error 34006"])
        #expect(client.status.reason?.timeLimit == .seconds(1))
    }

    @Test("A client that is released while it connects answers once, and is gone")
    func released() async throws {
        let network = try MemoryNetwork()
        network.server.refuseDials(with: .connectionRefused("nobody listens"))
        let answers = Collected()
        weak var released: RelayClient?
        do {
            let client = network.client(network.configuration(user: nil))
            released = client
            client.connect(params: ConnectParams(token: try UserToken.text())) { _, _ in
                answers.add("opened")
            } completionHandler: { user, error in
                answers.add("\(user ?? "nobody") \(error?.words ?? "")")
            }
            try await eventually("the store") { answers.all == ["opened"] }
        }
        try await eventually("the answer") { answers.all == ["opened", "nobody Cancelled."] }
        try await eventually("the release") { released == nil }
        try await eventually("the end of its timers") { network.time.waits.isEmpty }
    }

    @Test("B10 an answer that does not come in time is RongCloud's 30003")
    func responseTimeout() async throws {
        let (network, client) = try await MemoryNetwork.connected()
        await client.setReachable(false)
        let pending = try await client.enqueue(topic: "chat.room", message: "waits")
        let patient = try await client.enqueue(topic: "chat.room", message: "waits longer")
        let later = Task { try await patient.receipt(within: .seconds(9)) }
        try await eventually("the other caller's limit") { network.time.waits.contains(.seconds(9)) }
        let receipt = Task { try await pending.receipt(within: .seconds(7)) }
        try await eventually("the caller's limit") { network.time.waits.contains(.seconds(7)) }
        network.time.advance(by: .seconds(7))
        let error = await #expect(throws: RelayError.self) { try await receipt.value }
        #expect(error.map { RongCloudCode($0).rawValue } == 30_003)
        network.time.advance(by: .seconds(2))
        await #expect(throws: RelayError.self) { try await later.value }
        #expect(RongCloudCode(RelayError.invalidArgument("x")).rawValue == 33_003)
        await client.close()
    }
}
