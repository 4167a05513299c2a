import TestSupport
import Testing

@testable import Parley

@Suite("Whether a server can be reached", .realProcesses)
struct ReachabilityTests {
    @Test("One endpoint that answers is enough, at any place among others")
    func endpoints() async throws {
        let server = try await NATSServerProcess.start(NATSServerProcess.anyBinary)
        let good = try Reachability.resolve("127.0.0.1", port: server.port).get()
        // Nothing listens at the last of the ports that need a privilege.
        let refusing = try Reachability.resolve("127.0.0.1", port: 1_023).get()
        for endpoints in [good, refusing + good, good + refusing] {
            #expect(Reachability.connect(endpoints, milliseconds: 60_000) == nil)
        }
        #expect(Reachability.connect(refusing, milliseconds: 60_000)?.words == "Connection refused")
        #expect(Reachability.connect([], milliseconds: 60_000)?.words == "no address")
        server.close()
    }

    @Test("An endpoint that never answers takes no time from the others")
    func silence() async throws {
        let server = try await NATSServerProcess.start(NATSServerProcess.anyBinary)
        let good = try Reachability.resolve("127.0.0.1", port: server.port).get()
        // An address for documentation alone (RFC 5737): dropped on the way, or refused at once.
        let silent = try Reachability.resolve("192.0.2.1", port: 4_999).get()
        #expect(Reachability.connect(silent + good, milliseconds: 60_000) == nil)
        #expect(Reachability.connect(silent, milliseconds: 1) != nil)
        server.close()
    }
}
