import NIOCore
import NIOPosix
import NIOSSL

/// Turns the errors of sockets and TLS into this module's own.
enum ErrorTranslation {
    static func natsError(_ error: any Error, address: ServerAddress) -> NATSError {
        switch error {
        case let error as NATSError: return error
        case let error as NIOConnectionError: return connectError(error, address)
        case NIOSSLError.uncleanShutdown: return .connectionLost("the peer ended the secure connection without a word")
        case let error as NIOSSLError: return .tls(words(error))
        case let error as BoringSSLError: return .tls("\(error)")
        case let error as NIOSSLExtraError: return .tls(error.description)
        case let error as IOError: return ioError(error, address)
        case is CancellationError: return .cancelled
        case let error as ChannelError:
            if case .connectTimeout = error { return .timeout("\(address) did not accept the connection") }
            return .connectionLost("\(error)")
        default: return .connectionLost("\(error)")
        }
    }

    private static func connectError(_ error: NIOConnectionError, _ address: ServerAddress) -> NATSError {
        if error.connectionErrors.isEmpty { return .unresolvableHost(address.host) }
        let translated = error.connectionErrors.map { natsError($0.error, address: address) }
        return translated.first { if case .connectionRefused = $0 { true } else { false } } ?? translated[0]
    }

    private static func ioError(_ error: IOError, _ address: ServerAddress) -> NATSError {
        switch error.errnoCode {
        case ECONNREFUSED: return .connectionRefused("\(address)")
        case EHOSTUNREACH, ENETUNREACH, ENETDOWN, EADDRNOTAVAIL: return .unreachable("\(address): \(error.description)")
        case ETIMEDOUT: return .timeout("\(address) does not answer")
        case ECONNRESET, EPIPE: return .connectionLost("the peer reset it")
        default: return .connectionLost(error.description)
        }
    }

    private static func words(_ error: NIOSSLError) -> String {
        switch error {
        case .handshakeFailed(let reason): return "the handshake failed: \(reason)"
        case .unableToValidateCertificate:
            return "the server's certificate is not trusted, expired, or for another name"
        default: return "\(error)"
        }
    }
}
