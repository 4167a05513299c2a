import NIOCore
import NIOPosix
import Platform

enum ErrorTranslation {
    /// - Parameters:
    ///   - certificate: The server's certificate, if it has arrived.
    ///   - hasOwnCertificate: Whether this client has a certificate to present.
    static func natsError(
        _ error: any Error, address: ServerAddress, certificate: CertificateSummary? = nil,
        hasOwnCertificate: Bool = true
    ) -> NATSError {
        let failure = TLSFailure(
            name: address.expectedCertificateName, certificate: certificate, hasOwnCertificate: hasOwnCertificate)
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

extension IOError {
    /// Why the system refused, as a clause without the call and the number in `description`.
    package var words: String {
        switch errnoCode {
        case EHOSTUNREACH: return "no route to this host"
        case ENETUNREACH: return "no route to its network"
        case ENETDOWN: return "the network is down"
        case EADDRNOTAVAIL: return "this machine has no address for that network"
        case EAFNOSUPPORT: return "this machine does not support that kind of address; IPv6 may be off"
        case EACCES, EPERM: return "this machine's rules forbid it"
        case EINVAL:
            return "no server can have that address; a link-local one names its interface, as in [fe80::1%eth0]"
        default:
            let text = String(cString: strerror(errnoCode))
            return text.prefix(1).lowercased() + text.dropFirst()
        }
    }

    /// Whether no connection was established, rather than one lost.
    var meansUnreachable: Bool {
        [
            EHOSTUNREACH, ENETUNREACH, ENETDOWN, EADDRNOTAVAIL, EAFNOSUPPORT, EPROTONOSUPPORT, EACCES, EPERM, EINVAL,
            EMFILE, ENFILE,
        ].contains(errnoCode)
    }
}

package func systemWords(_ error: any Error) -> String { (error as? IOError)?.words ?? "\(error)" }
