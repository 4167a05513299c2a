import NATS
import TestSupport
import Testing

@Suite("The server in memory")
struct MemoryServerPromiseTests {
    @Test("The server in memory keeps the promise", arguments: ServerPromise.allCases)
    func promise(_ promise: ServerPromise) async throws {
        let server = MemoryServer()
        try await promise.check { options in try await server.connect(ServerAddress(host: "memory"), options) }
    }
}
