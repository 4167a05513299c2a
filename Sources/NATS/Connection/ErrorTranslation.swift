import NIOCore
import NIOPosix

/// Turns the errors of sockets and TLS into this module's own.
enum ErrorTranslation {
    /// - Parameter certificate: the server's, as far as it has come.
    static func natsError(
        _ error: any Error, address: ServerAddress, certificate: CertificateSummary? = nil
    ) -> NATSError {
        let failure = TLSFailure(name: address.expectedCertificateName, certificate: certificate)
        if let translated = failure.error(error) { return translated }
        switch error {
        case let error as NATSError: return error
        case let error as NIOConnectionError: return connectError(error, address)
        case let error as IOError: return ioError(error, address)
        case is CancellationError: return .cancelled
        case let error as ChannelError:
            if case .connectTimeout = error { return .timeout("\(address) did not accept the connection") }
            return .connectionLost("it was closed")
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
        case _ where error.meansUnreachable: return .unreachable("\(address): \(error.words)")
        case ETIMEDOUT: return .timeout("\(address) does not answer")
        case ECONNRESET, EPIPE: return .connectionLost("the peer reset it")
        default: return .connectionLost(error.words)
        }
    }
}
