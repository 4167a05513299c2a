import NATS

extension ConnectionReason {
    /// What a failure of the wire means for the connection.
    init(_ error: NATSError) {
        switch error {
        case .authorization(.violation): self = .authenticationFailed("")
        case .authorization(.userRevoked): self = .credentialsRevoked(nil)
        case .authorization(.userExpired): self = .tokenExpired
        case .authorization(.accountExpired): self = .accessExpired(nil)
        case .proxy(let text): self = .proxyUnavailable(text)
        case .tls(let text): self = .tlsFailure(text)
        case .tlsRequired: self = .tlsFailure("the server requires TLS; use a tls:// address")
        case .tlsFirst, .speaksBeforeTLS: self = .tlsFailure(error.description)
        case .unreachable(let text): self = .unreachable(text)
        case .unresolvableHost, .connectionRefused, .timeout, .connectionLimit, .invalidArgument,
            .invalidSubject, .protocolViolation:
            self = .unreachable(Self.clause(error))
        // The reason says itself what was lost.
        case .connectionLost(let text): self = .connectionLost(text)
        case .closedByServer, .staleConnection, .closed, .cancelled, .noResponders,
            .publishNotPermitted, .subscribeNotPermitted, .subscriptionLimit, .payloadTooLarge, .outboundBufferFull,
            .jetStream:
            self = .connectionLost(Self.clause(error))
        }
    }

    /// The error's sentence as part of another one.
    private static func clause(_ error: NATSError) -> String {
        var text = error.description
        if text.hasSuffix(".") { text.removeLast() }
        return text.prefix(1).lowercased() + text.dropFirst()
    }
}

extension RelayError {
    /// What a failure of the wire means for the caller of an operation.
    init(_ error: NATSError, during operation: String) {
        switch error {
        case .timeout: self = .timeout(operation)
        case .noResponders: self = .server(code: 503, "nobody answers \(operation)")
        // The right that is missing, and not the subject of the question.
        case .publishNotPermitted: self = .notAuthorized(operation)
        case .subscribeNotPermitted(let subject):
            self = .notAuthorized("hearing what the server answers, on \(subject)")
        case .payloadTooLarge(let bytes, let limit): self = .tooLarge(bytes: bytes, limit: limit)
        case .cancelled: self = .cancelled
        case .invalidArgument(let text): self = .invalidArgument(text)
        case .invalidSubject(let subject): self = .invalidArgument("The subject \(subject) cannot be used")
        case .jetStream(let failure):
            // Of a pull the server says the class alone.
            self = .server(code: failure.errorCode == 0 ? failure.code : failure.errorCode, failure.text)
        case .closed, .connectionLost, .closedByServer, .staleConnection, .unresolvableHost, .connectionRefused,
            .unreachable, .proxy, .tls, .tlsRequired, .tlsFirst, .speaksBeforeTLS, .authorization, .connectionLimit,
            .subscriptionLimit, .outboundBufferFull, .protocolViolation:
            self = .connection(ConnectionReason(error))
        }
    }
}
