import NIOCore
import Platform
import Testing

@testable import NATS

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

    @Test("what the system says of a dial is a clause of a sentence, without its call and number")
    func words() {
        let proxy = ProxyFailure(proxy: ProxyAddress(.socks5, host: "proxy.example", port: 1), server: server)
        for code in CInt(1)...133 {
            for reason in ["connection reset (error set)", "connect(descriptor:addr:size:)"] {
                let error = IOError(errnoCode: code, reason: reason)
                for told in [
                    ErrorTranslation.natsError(error, address: server), proxy.error(error), proxy.dialError([error]),
                ] {
                    let words = told.description
                    #expect(!words.contains("errno") && !words.contains("("), "\(code): \(words)")
                }
            }
        }
        let v6 = ServerAddress(host: "2001:db8::1", port: 4_222)
        #expect(
            ErrorTranslation.natsError(IOError(errnoCode: EHOSTUNREACH, reason: "connect"), address: v6)
                == .unreachable("nats://[2001:db8::1]:4222: no route to this host"))
        #expect(
            ErrorTranslation.natsError(ChannelError.ioOnClosedChannel, address: v6) == .connectionLost("it was closed"))
    }
}
