import Foundation
import NATS
import NIOCore
import TestSupport
import Testing

@testable import RelayNetwork

/// A client that shares no code and knows nothing of accounts, on a private network: Python's nats-py as RelayX's SDKs
/// use it.
@Suite("Accounts: unmodified clients", .realProcesses)
struct UnmodifiedClientTests {
    static let python = ProcessInfo.processInfo.environment["PARLEY_TEST_PYTHON"]

    private func peer(
        _ network: TestNetwork, _ user: String, _ action: String, _ topic: String, _ count: Int
    ) async throws -> TestSupport.ChildProcess.Result {
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Interop/unmodified.py").path
        _ = try network.directory.credentials(for: user)
        let credentials = network.directory.credentialsPath(for: try UserName(user))
        return try await TestSupport.ChildProcess.run(
            try #require(Self.python), [script, network.description.url, credentials, action, topic, "\(count)"],
            deadline: .seconds(60))
    }

    @Test(
        "Publishing, pulling and pushing work under the usual prefix and inbox",
        .enabled(if: python != nil, "PARLEY_TEST_PYTHON names no Python with nats-py"), arguments: TestServers.all)
    func usualPrefix(server: String) async throws {
        try await TestNetwork.run(server: server) { network in
            let published = try await peer(network, "alice", "publish", "chat.room", 3)
            #expect(published.exitCode == 0 && published.lines.count == 3, "\(published)")
            let pulled = try await peer(network, "bob", "pull", "chat.room", 3)
            #expect(pulled.lines == ["0", "1", "2"].map { #"{"text": "\#($0)"}"# }, "\(pulled)")
            let found = try await peer(network, "carol", "find", "chat.room", 3)
            #expect(found.lines == pulled.lines, "\(found)")
            // A filter that ends in > is not mapped by servers before 2.10.
            guard !network.description.serverVersion.hasPrefix("2.9.") else { return }
            let pushed = try await peer(network, "carol", "push", ">", 3)
            #expect(pushed.lines == ["0", "1", "2"].map { #"{"text": "\#($0)"}"# }, "\(pushed)")
        }
    }
}
