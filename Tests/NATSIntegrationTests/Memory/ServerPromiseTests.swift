import TestSupport
import Testing

@Suite("What the server in memory promises, on real servers", .realProcesses, .sharedServers)
struct ServerPromiseTests {
    @Test("A real server keeps the promise", arguments: ServerPromise.allCases, NATSServerProcess.binaries)
    func promise(_ promise: ServerPromise, binary: NATSServerBinary) async throws {
        try await promise.check { options in try await SharedServers.connect(binary, options) }
    }
}
