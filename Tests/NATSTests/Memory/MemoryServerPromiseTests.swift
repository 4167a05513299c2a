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

    @Test("The server in memory gives batches as newer servers do")
    func batches() async throws {
        let server = MemoryServer()
        server.info.version = "2.12.0"
        try await ServerPromise.batches.check { options in
            try await server.connect(ServerAddress(host: "memory"), options)
        }
    }
}
