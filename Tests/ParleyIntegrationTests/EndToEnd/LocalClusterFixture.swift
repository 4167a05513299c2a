import Foundation
import Platform
import TestSupport

/// Somebody's own cluster, in a folder of its own.
final class LocalClusterFixture: Machines {
    let folder: TemporaryDirectory
    private let server: String

    private init(_ binary: NATSServerBinary) throws {
        folder = try TemporaryDirectory("e2e")
        server = binary.path
    }

    /// Runs a test, and ends every process of the cluster however it went.
    static func run(
        _ binary: NATSServerBinary = NATSServerProcess.anyBinary, _ body: (LocalClusterFixture) async throws -> Void
    ) async throws {
        let fixture = try LocalClusterFixture(binary)
        do { try await body(fixture) } catch {
            let log = fixture.log
            try? await fixture.end()
            throw TestFailure("\(error)\n\(log)")
        }
        try await fixture.end()
    }

    /// The network's folder.
    var network: String { folder.path("owner/data/parley/networks/cluster") }

    /// Where everybody finds the server.
    var environment: [String: String] { ["PARLEY_NATS_SERVER": server] }

    /// What `processes.json` has.
    func processes() throws -> JSONLine {
        try JSONLine(String(contentsOfFile: network + "/processes.json", encoding: .utf8))
    }

    /// The servers' process ids.
    func serverIDs() throws -> [Int32] {
        try processes()["servers"].array.compactMap { $0["process"]["pid"].int.map(Int32.init) }
    }

    /// The host's process id.
    func hostID() throws -> Int32 { Int32(try processes()["host"]["pid"].int ?? 0) }

    /// What the processes have written, for messages of failed tests.
    private var log: String {
        ["host.log", "servers/1/server.log"].map { name in
            let text = try? String(contentsOfFile: network + "/" + name, encoding: .utf8)
            return "\n\(name):\n\((text ?? "").suffix(3_000))"
        }.joined()
    }

    private func end() async throws {
        guard FileManager.default.fileExists(atPath: network) else { return }
        let left = ((try? serverIDs() + [hostID()]) ?? []).filter { $0 > 1 }
        let result = try await parley("owner", "network", "cluster", "stop")
        guard result.status.isSuccess else { throw TestFailure("\(result)\(log)") }
        for process in left {
            try await eventually("the end of process \(process)") { !PrivateNetworkFixture.isRunning(process) }
        }
    }
}
