import NIOCore
import NIOPosix
import NIOSOCKS

extension NATSError {
    /// Adds to a login failure the proxy in use, which may be the cause.
    func through(_ proxy: ProxyAddress) -> NATSError {
        let name = "\(proxy)"
        func named(_ text: String) -> String {
            guard !text.contains(name) else { return text }
            // The advice stays at the end.
            let end = text.firstRange(of: "; ")?.lowerBound ?? text.endIndex
            return "\(text[..<end]) (through the proxy \(name))\(text[end...])"
        }
        switch self {
        case .timeout(let text): return .timeout(named(text))
        case .tls(let text): return .tls(named(text))
        case .unreachable(let text): return .unreachable(named(text))
        case .connectionRefused(let text): return .connectionRefused(named(text))
        case .connectionLost(let text): return .connectionLost(named(text))
        case .protocolViolation(let text): return .protocolViolation(named(text))
        case .closedByServer(let text): return .closedByServer(named(text ?? "without a reason"))
        default: return self
        }
    }
}

/// The meaning of a failure before the tunnel is open: the proxy's own answer, a network failure on the way to it, or a
/// server that the proxy cannot reach. Only the first is final.
struct ProxyFailure {
    var proxy: ProxyAddress
    var server: ServerAddress

    var unanswered: NATSError { .timeout("the proxy \(proxy) does not answer") }

    var closed: NATSError { .connectionLost("the proxy \(proxy) closed it without an answer") }

    var garbled: NATSError {
        switch proxy.kind {
        case .http: .proxy("\(proxy) does not answer as an HTTP proxy")
        case .socks5: .proxy("\(proxy) does not answer as a SOCKS 5 proxy")
        }
    }

    /// The meaning of an answer to CONNECT; nil if the tunnel is open.
    func error(status: Int, _ reason: String) -> NATSError? {
        let shown = "\(status) \(reason)"
        switch status {
        case 200..<300: return nil
        case 407 where proxy.authorization == nil:
            return .proxy("\(proxy) asks for a user name and password; write http://user:password@host:port")
        case 407: return .proxy("\(proxy) refuses the user name or password")
        // Proxies use any of these for a server that they cannot reach.
        case 500, 502, 503, 504: return .unreachable("\(proxy) has no way to \(server) (\(shown))")
        default: return .proxy("\(proxy) refuses the way to \(server) (\(shown))")
        }
    }

    /// The meaning of an error on the way to the proxy or in the exchange with it.
    func error(_ error: any Error) -> NATSError {
        switch error {
        case let error as NATSError: return error
        case let error as NIOConnectionError:
            if error.connectionErrors.isEmpty {
                return .unreachable("the proxy \(proxy) has no address; check its spelling and DNS")
            }
            return dialError(error.connectionErrors.map(\.error))
        case let error as SOCKSError.ConnectionFailed: return refusal(error.reply)
        case is SOCKSError.InvalidAuthenticationSelection, is SOCKSError.NoValidAuthenticationMethod:
            return .proxy("\(proxy) asks for a user name and password, which a SOCKS proxy cannot be given here")
        case let error as IOError: return ioError(error)
        case let error as ChannelError:
            if case .connectTimeout = error { return unanswered }
            return closed
        case is CancellationError: return .cancelled
        default: return garbled
        }
    }

    func dialError(_ errors: [any Error]) -> NATSError {
        let translated = errors.map { error($0) }
        func isRefusal(_ error: NATSError) -> Bool { if case .proxy = error { true } else { false } }
        func isUnreachable(_ error: NATSError) -> Bool { if case .unreachable = error { true } else { false } }
        // An address that did not answer may be the right one; one without a network proves nothing.
        return translated.first { !isRefusal($0) && !isUnreachable($0) } ?? translated.first(where: isRefusal)
            ?? translated.first ?? closed
    }

    private func ioError(_ error: IOError) -> NATSError {
        switch error.errnoCode {
        case ECONNREFUSED: return .proxy("nothing answers at \(proxy)")
        // The network's fault and not the proxy's, so it is temporary.
        case _ where error.meansUnreachable: return .unreachable("\(proxy): \(error.words)")
        case ETIMEDOUT: return unanswered
        case ECONNRESET, EPIPE: return closed
        default: return .connectionLost("the proxy \(proxy): \(error.words)")
        }
    }

    /// RFC 1928, section 6.
    private func refusal(_ reply: SOCKSServerReply) -> NATSError {
        switch reply {
        case .refused: return .connectionRefused("\(server), as \(proxy) sees it")
        // Most proxies answer with a general failure for a server out of reach.
        case .serverFailure, .networkUnreachable, .hostUnreachable, .ttlExpired:
            return .unreachable("\(proxy) has no way to \(server) (SOCKS reply \(reply.value))")
        case .notAllowed: return .proxy("\(proxy) does not allow connections to \(server) (SOCKS reply 2)")
        default: return .proxy("\(proxy) failed to reach \(server) (SOCKS reply \(reply.value))")
        }
    }
}
