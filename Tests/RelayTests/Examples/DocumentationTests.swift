import NATS
import NIOConcurrencyHelpers
import Relay
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The articles say what the code does: their examples are files that are compiled and run here, and their tables name
/// every row of the vocabularies and tests that exist.
@Suite("Documentation", .realProcesses)
struct DocumentationTests {
    private static let package = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private func article(_ name: String) throws -> String {
        try String(
            contentsOf: Self.package.appendingPathComponent("Sources/Relay/Relay.docc/\(name).md"), encoding: .utf8)
    }

    @Test(
        "The examples are files of this folder, word for word",
        arguments: ["RelayXExample", "NexconnExample", "RongCloudExample", "ProviderExample"])
    func examples(name: String) throws {
        let file = Self.package.appendingPathComponent("Tests/RelayTests/Examples/\(name).swift")
        let code = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
            .filter { !$0.hasPrefix("// The ") }.joined(separator: "\n")
        let blocks = try article("Connecting").components(separatedBy: "```").enumerated()
            .filter { $0.offset % 2 == 1 }
            .map { $0.element.split(separator: "\n").dropFirst().joined(separator: "\n") }
        #expect(blocks.contains(code))
    }

    /// The rows of an article's table under a heading, cell by cell.
    private func rows(_ heading: String) throws -> [[String]] {
        let section = try #require(
            try article("ConnectionStatus").components(separatedBy: "\n## ").first { $0.hasPrefix(heading) })
        return section.split(separator: "\n").filter { $0.hasPrefix("|") }.dropFirst(2).map { line in
            line.split(separator: "|", omittingEmptySubsequences: true).map {
                $0.split(whereSeparator: { " `".contains($0) }).joined(separator: " ")
            }
        }
    }

    @Test("B12 the tables have every row of the five vocabularies")
    func complete() throws {
        #expect(try Set(rows("RelayX").map { $0[0] }) == Set(SystemEvent.allCases.map(\.rawValue)))
        #expect(
            try Set(rows("Sudo").map { $0[0] })
                == Set(
                    [.initialized, .connecting, .connected, .disconnected, .error(.cancelled)].map {
                        (status: PlatformSubscriptionStatus) in status.name
                    }))
        #expect(
            try Set(rows("Nexconn").compactMap { Int($0[0]) })
                == Set(NexconnConnectionStatus.known.map(\.rawValue) + [-1]))
        #expect(try Set(rows("Supabase").map { $0[0] }) == Set(SupabaseStatus.allCases.map(\.rawValue)))
        let vocabulary = Self.package.appendingPathComponent(
            "Sources/Relay/Connection/Vocabularies/RongCloudCode.swift")
        let codes = try String(contentsOf: vocabulary, encoding: .utf8).split(separator: "\n").compactMap { line in
            line.contains("static let") ? line.split(separator: "=").last?.filter(\.isNumber) : nil
        }
        #expect(codes.count > 20)
        #expect(try Set(rows("RongCloud").map { $0[0] }) == Set(codes.map { String($0) }))
    }

    @Test(
        "Each row of the tables names a test that there is",
        arguments: ["RelayX", "Sudo", "Nexconn", "RongCloud", "Supabase"])
    func named(heading: String) throws {
        let tests = Self.package.appendingPathComponent("Tests")
        let files = try #require(FileManager.default.enumerator(atPath: tests.path))
        var sources = ""
        for case let file as String in files where file.hasSuffix(".swift") {
            sources += try String(contentsOf: tests.appendingPathComponent(file), encoding: .utf8)
        }
        for row in try rows(heading) {
            let name = try #require(row.last)
            #expect(sources.contains("\"\(name)\""), "\(row[0]): there is no test “\(name)”")
        }
    }

    @Test("B10 B12 a dial under way is Connecting, and a client at rest Unconnected")
    func connecting() async throws {
        let fixture = try await ClientFixture.start()
        let client = RelayClient(configuration: try fixture.configuration())
        #expect(NexconnConnectionStatus(client.status) == .unconnected)
        #expect(SupabaseStatus(client.status) == .disconnected && RongCloudCode(client.status) == nil)
        let statuses = client.statuses
        try await client.connect(timeLimit: 60)
        var seen: [NexconnConnectionStatus] = []
        for await status in statuses {
            if seen.last != NexconnConnectionStatus(status) { seen.append(NexconnConnectionStatus(status)) }
            if status.state == .connected { break }
        }
        #expect(seen == [.unconnected, .connecting, .connected])
        #expect(SupabaseStatus(client.status) == .connected)
        await client.close()
    }

    // MARK: Running the examples

    private func token() throws -> (token: String, pair: NKeyPair) {
        let pair = NKeyPair.generate(.user)
        let claims = UserClaims(subject: pair.publicKey, name: "alice", grant: UserGrant())
        return (try claims.encode(signedBy: .generate(.account)), pair)
    }

    @Test("RelayX's example connects, stores its message and ends")
    func relayX() async throws {
        let fixture = try await ClientFixture.start()
        let service = try await NATSConnection.connect(
            to: try ServerAddress(parsing: fixture.server.url), options: ConnectOptions(connectTimeout: .seconds(60)))
        let questions = try service.subscribe(to: "accounts.user.get_namespace")
        try await service.flush()
        let answering = Task {
            let names = #"{"namespace":"test","hash":"h4sh"}"#
            let answer = #"{"status":"NAMESPACE_RETRIEVE_SUCCESS","data":\#(names)}"#
            for try await question in questions {
                if let reply = question.reply { try service.publish(Array(answer.utf8), to: reply) }
            }
        }
        let (token, pair) = try token()
        try await chatAsRelayX(apiKey: token, secret: pair.withSeedText { $0 }, servers: [fixture.server.url])
        let stored = try await fixture.withJetStream { try await $0.streamInfo("test_stream").state.messages }
        #expect(stored == 1)
        answering.cancel()
        await service.close()
    }

    @Test("B7 Nexconn's and RongCloud's examples connect and answer once")
    func handlers() async throws {
        let fixture = try await ClientFixture.start()
        let client = RelayClient(configuration: try fixture.configuration(user: nil))
        let answers = NIOLockedValueBox<[String]>([])
        let token = try token().token
        connectAsNexconn(client, token: token) { user, status in
            answers.withLockedValue { $0.append("\(user ?? "nobody") \(status)") }
        }
        try await eventually("Nexconn's answer") { answers.withLockedValue(\.self) == ["alice 0"] }
        connectAsRongCloud(client, token: token) { outcome in answers.withLockedValue { $0.append(outcome) } }
        try await eventually("RongCloud's answer") {
            answers.withLockedValue(\.self) == ["alice 0", "welcome, alice"]
        }
        await client.close()
    }

    @Test("B5 the provider's example asks for a token first")
    func provider() async throws {
        let asked = NIOLockedValueBox(0)
        let connecting = Task {
            try await connectWithProvider(servers: ["nats://127.0.0.1:1"]) {
                asked.withLockedValue { $0 += 1 }
                throw RelayError.cancelled
            }
        }
        await #expect(throws: RelayError.connection(.invalidCredentials("the token provider gave none"))) {
            _ = try await connecting.value
        }
        #expect(asked.withLockedValue(\.self) == 1)
    }
}
