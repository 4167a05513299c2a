import NATS

extension RelayError {
    /// The meaning of a NATS failure for the caller of an operation.
    init(_ error: NATSError, during operation: String) {
        switch error {
        case .timeout: self = .timeout(operation)
        case .noResponders: self = .server(code: 503, "nobody answers \(operation)")
        // Names the missing right rather than the request's subject.
        case .publishNotPermitted: self = .notAuthorized(operation)
        case .subscribeNotPermitted(let subject):
            self = .notAuthorized("hearing what the server answers, on \(subject)")
        case .payloadTooLarge(let bytes, let limit): self = .tooLarge(bytes: bytes, limit: limit)
        case .cancelled: self = .cancelled
        case .invalidArgument(let text): self = .invalidArgument(text)
        case .invalidSubject(let subject): self = .invalidArgument("The subject \(subject) cannot be used")
        case .jetStream(let failure):
            // For a pull, the server sends only the class.
            self = .server(code: failure.errorCode == 0 ? failure.code : failure.errorCode, failure.text)
        case .closed, .connectionLost, .closedByServer, .staleConnection, .unresolvableHost, .connectionRefused,
            .unreachable, .proxy, .tls, .tlsRequired, .tlsFirst, .speaksBeforeTLS, .authorization, .connectionLimit,
            .subscriptionLimit, .outboundBufferFull, .protocolViolation:
            self = .connection(ConnectionReason(error))
        }
    }
}
