import NIOCore
import NIOExtras
import NIOHTTP1
import NIOPosix
import NIOSOCKS

/// What a failure before the tunnel stands means: the proxy's own fault, or a server that the proxy cannot reach.
struct ProxyFailure {
    var proxy: ProxyAddress
    var server: ServerAddress

    /// Nothing came in time.
    var unanswered: NATSError { .proxy("\(proxy) gave no answer in time") }

    /// The proxy ended the connection instead of answering.
    var closed: NATSError { .proxy("\(proxy) closed the connection without an answer") }

    /// The answer is none of the proxy's protocol.
    var garbled: NATSError {
        switch proxy.kind {
        case .http: .proxy("\(proxy) does not answer as an HTTP proxy")
        case .socks5: .proxy("\(proxy) does not answer as a SOCKS 5 proxy")
        }
    }

    /// What the status of an answer to CONNECT means; nil when the tunnel stands.
    func error(status: HTTPResponseStatus) -> NATSError? {
        let shown = "\(status.code) \(status.reasonPhrase)"
        switch status.code {
        case 200..<300: return nil
        case 407 where proxy.authorization == nil:
            return .proxy("\(proxy) asks for a user name and password; write http://user:password@host:port")
        case 407: return .proxy("\(proxy) refuses the user name or password")
        // Proxies differ in which of these they choose for a server that they cannot reach.
        case 500, 502, 503, 504: return .unreachable("\(proxy) has no way to \(server) (\(shown))")
        default: return .proxy("\(proxy) refuses the way to \(server) (\(shown))")
        }
    }

    /// What an error on the way to the proxy, or of the words exchanged with it, means.
    func error(_ error: any Error) -> NATSError {
        switch error {
        case let error as NATSError: return error
        case let error as NIOConnectionError: return dialError(error)
        case let error as SOCKSError.ConnectionFailed: return refusal(error.reply)
        case is SOCKSError.InvalidAuthenticationSelection, is SOCKSError.NoValidAuthenticationMethod:
            return .proxy("\(proxy) asks for a user name and password, which a SOCKS proxy cannot be given here")
        case let error as IOError: return ioError(error)
        case let error as ChannelError:
            if case .connectTimeout = error { return unanswered }
            return closed
        case is CancellationError: return .cancelled
        case let error as NIOHTTP1ProxyConnectHandler.Error:
            return error == .httpProxyHandshakeTimeout() ? unanswered : closed
        default: return garbled
        }
    }

    private func dialError(_ error: NIOConnectionError) -> NATSError {
        if error.connectionErrors.isEmpty { return .proxy("the host of \(proxy) has no address") }
        let translated = error.connectionErrors.map { self.error($0.error) }
        // One of several addresses may belong to a network that is not there.
        return translated.first { if case .proxy = $0 { true } else { false } } ?? translated[0]
    }

    private func ioError(_ error: IOError) -> NATSError {
        switch error.errnoCode {
        case ECONNREFUSED: return .proxy("nothing answers at \(proxy)")
        // The network's doing and not the proxy's: it passes.
        case EHOSTUNREACH, ENETUNREACH, ENETDOWN, EADDRNOTAVAIL: return .unreachable("\(proxy): \(error.description)")
        case ETIMEDOUT: return unanswered
        case ECONNRESET, EPIPE: return closed
        default: return .proxy("\(proxy): \(error.description)")
        }
    }

    /// RFC 1928, section 6.
    private func refusal(_ reply: SOCKSServerReply) -> NATSError {
        switch reply {
        case .refused: return .connectionRefused("\(server), as \(proxy) sees it")
        case .networkUnreachable, .hostUnreachable, .ttlExpired:
            return .unreachable("\(proxy) has no way to \(server) (SOCKS reply \(reply.value))")
        case .notAllowed: return .proxy("\(proxy) does not allow connections to \(server) (SOCKS reply 2)")
        default: return .proxy("\(proxy) failed to reach \(server) (SOCKS reply \(reply.value))")
        }
    }
}
