import NIOCore
import Testing

@testable import NATS

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite("Dials to a proxy that failed")
struct ProxyDialErrorTests {
    private let server = ServerAddress(host: "broker.example", port: 4_333)

    @Test("one address that did not answer leaves hope, one without a network does not")
    func severalAddresses() {
        let proxy = ProxyAddress(.http, host: "proxy.example", port: 1)
        let failure = ProxyFailure(proxy: proxy, server: server)
        func dialled(_ codes: CInt...) -> NATSError {
            failure.dialError(codes.map { IOError(errnoCode: $0, reason: "connect") })
        }
        #expect(dialled(ENETUNREACH, ECONNREFUSED) == .proxy("nothing answers at \(proxy)"))
        #expect(dialled(ECONNREFUSED, ENETUNREACH) == .proxy("nothing answers at \(proxy)"))
        #expect(dialled(ECONNREFUSED, ETIMEDOUT) == failure.unanswered)
        #expect(dialled(ENETUNREACH, ETIMEDOUT) == failure.unanswered)
        #expect(dialled(ENETUNREACH).isRetryable && dialled(ENOBUFS).isRetryable)
    }
}
