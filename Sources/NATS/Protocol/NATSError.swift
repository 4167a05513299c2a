/// Any failure between this client and a NATS server.
///
/// The texts say what happened and, if the caller can act, what to do next. They never contain a credential.
public enum NATSError: Error, Sendable, Hashable {
    /// An address, option or argument is invalid; the text says which and why. Thrown before any I/O.
    case invalidArgument(String)
    /// The subject breaks the rules for its use (empty token, white space, or a wildcard in a publish).
    case invalidSubject(String)
    /// The host name has no address.
    case unresolvableHost(String)
    /// Nothing listens at the address, or a firewall refused it.
    case connectionRefused(String)
    /// The address could not be reached for another network reason.
    case unreachable(String)
    /// The proxy does not work: nothing listens there, it refuses, or it is no proxy; the text names it. A network
    /// failure on the way to the proxy has the same cases as one on the way to a server; a server that a working proxy
    /// cannot reach is `unreachable` or `connectionRefused`.
    case proxy(String)
    /// The server did not answer in time; the text names the step.
    case timeout(String)
    /// The TLS handshake failed (unknown authority, wrong name, expired certificate, plain text peer …).
    case tls(String)
    /// The server requires TLS, and this client is not configured for it.
    case tlsRequired
    /// The server wants TLS before INFO, which this client waits for; the text is the server's address.
    case tlsFirst(String)
    /// The server sends INFO before TLS, but this client starts with TLS; the text is the server's address.
    case speaksBeforeTLS(String)
    /// The server refused the credentials, or withdrew them while connected.
    case authorization(AuthorizationFailure)
    /// The server accepts no further connection at the moment; a later attempt can succeed.
    case connectionLimit(String)
    /// The user's permissions forbid publishing to this subject.
    case publishNotPermitted(subject: String)
    /// The user's permissions forbid subscribing to this subject.
    case subscribeNotPermitted(subject: String)
    /// The account or user may have no further subscription.
    case subscriptionLimit
    /// The message is larger than the server accepts; both figures in bytes.
    case payloadTooLarge(bytes: Int, limit: Int)
    /// The outbound buffer is full because the link is slower than the publisher; await `drained()` and continue.
    case outboundBufferFull(bytes: Int)
    /// The subject of a request has no subscriber.
    case noResponders(subject: String)
    /// The server stopped answering pings.
    case staleConnection
    /// The server closed this connection; the text is its reason, if it gave one.
    case closedByServer(String?)
    /// The connection broke; the text is the system's reason.
    case connectionLost(String)
    /// This connection has been closed by `close()`.
    case closed
    /// The waiting task was cancelled.
    case cancelled
    /// The peer does not speak the NATS protocol, or a message broke its rules.
    case protocolViolation(String)
    /// A JetStream or key-value call was refused by the server.
    case jetStream(JetStreamFailure)

    /// Why the server refused the credentials. NATS distinguishes an expired login from others only while connected.
    public enum AuthorizationFailure: String, CaseIterable, Sendable, Hashable {
        /// Refused at login: unknown, malformed, expired or revoked credentials, or an unknown account.
        case violation = "Authorization Violation"
        /// The user's token expired while connected.
        case userExpired = "User Authentication Expired"
        /// The user's token was revoked.
        case userRevoked = "User Authentication Revoked"
        /// The account expired or was deleted.
        case accountExpired = "Account Authentication Expired"
    }

    /// Whether the same call can succeed later without a change by the caller.
    public var isRetryable: Bool {
        switch self {
        case .connectionRefused, .unreachable, .unresolvableHost, .timeout, .connectionLimit, .staleConnection,
            .closedByServer, .connectionLost, .outboundBufferFull, .noResponders:
            return true
        case .jetStream(let failure):
            return failure.isRetryable
        case .invalidArgument, .invalidSubject, .proxy, .tls, .tlsRequired, .tlsFirst, .speaksBeforeTLS, .authorization,
            .publishNotPermitted, .subscribeNotPermitted, .subscriptionLimit, .payloadTooLarge, .closed, .cancelled,
            .protocolViolation:
            return false
        }
    }
}

/// A refusal by JetStream, with the server's codes (ADR-1; `err_code` is the precise one).
public struct JetStreamFailure: Sendable, Hashable {
    /// The HTTP-like class: 400, 404, 503 …
    public var code: Int
    /// The precise code, such as 10059 "stream not found"; 0 if the server gave none.
    public var errorCode: Int
    /// The server's text.
    public var text: String

    /// Creates a failure from the server's three fields.
    public init(code: Int, errorCode: Int, text: String) {
        self.code = code
        self.errorCode = errorCode
        self.text = text
    }

    /// Whether the cause is temporary (no leader, insufficient resources, timeout on the server).
    public var isRetryable: Bool {
        switch errorCode {
        // JetStream is off for the account, or altogether.
        case 10_039, 10_076: return false
        case _ where meansFullStream: return false
        default: return code == 503 || code == 408 || code == 409
        }
    }
    /// The same message was sent before, and the servers of a cluster have not agreed on it yet.
    package static let notStoredYet = JetStreamFailure(
        code: 409, errorCode: 10_158, text: "the message is known and not stored yet")
    /// Whether the stream has reached its limit of messages or bytes and accepts nothing new. Only the text
    /// distinguishes this from a store that fails for another reason.
    public var meansFullStream: Bool { errorCode == 10_077 && text.contains("maximum") }
    /// Whether the message to read or delete does not exist. For a deletion, server 2.9 uses the code that also means a
    /// stream without deletion (10057); only its text distinguishes the two.
    public var meansMissingMessage: Bool {
        switch errorCode {
        case Self.sequenceNotFound, Self.noMessageFound: return true
        case 10_057: return text.contains("no message found")
        default: return false
        }
    }
    /// No such stream.
    public static let streamNotFound = 10059
    /// No such consumer.
    public static let consumerNotFound = 10014
    /// No message with that sequence or subject.
    public static let noMessageFound = 10037
    /// The sequence to delete does not exist.
    public static let sequenceNotFound = 10043
    /// An expected last sequence did not match.
    public static let wrongLastSequence = 10071
    /// The stream accepts no message that replaces earlier ones.
    public static let rollupRefused = 10111
    /// A stream of that name exists with another configuration.
    public static let streamNameInUse = 10058
}

extension NATSError: CustomStringConvertible {
    /// One sentence for a person.
    public var description: String {
        switch self {
        case .invalidArgument(let text): return text
        case .invalidSubject(let subject): return "The subject \(quoted(subject)) is not valid."
        case .unresolvableHost(let host): return "The host \(quoted(host)) has no address; check its spelling and DNS."
        case .connectionRefused(let address): return "Nothing answers at \(address); is the server running?"
        case .unreachable(let text): return "The server cannot be reached: \(text)"
        case .proxy(let text): return "The proxy does not work: \(text)."
        case .timeout(let step): return "No answer in time: \(step)."
        case .tls(let text): return "The secure connection failed: \(text)"
        case .tlsRequired: return "The server requires TLS; use a tls:// address."
        case .tlsFirst(let address): return "\(address) wants TLS before its first word; set tlsFirst"
        case .speaksBeforeTLS(let address): return "\(address) speaks before TLS; remove tlsFirst"
        case .authorization(let failure): return "The server refused the credentials: \(failure.rawValue)."
        case .connectionLimit(let text): return "The server accepts no more connections now: \(text)."
        case .publishNotPermitted(let subject): return "Not permitted to publish to \(quoted(subject))."
        case .subscribeNotPermitted(let subject): return "Not permitted to subscribe to \(quoted(subject))."
        case .subscriptionLimit: return "The connection has reached its limit of subscriptions."
        case .payloadTooLarge(let bytes, let limit):
            return "The message has \(bytes) bytes; the server takes at most \(limit)."
        case .outboundBufferFull(let bytes): return "\(bytes) bytes wait to be sent; the link is too slow."
        case .noResponders(let subject): return "No one answers on \(quoted(subject))."
        case .staleConnection: return "The server stopped answering."
        case .closedByServer(let text):
            return text.map { "The server closed the connection: \($0)." }
                ?? "The server closed the connection."
        case .connectionLost(let text): return "The connection was lost: \(text)."
        case .closed: return "The connection has been closed."
        case .cancelled: return "Cancelled."
        case .protocolViolation(let text): return "The server broke the protocol: \(text)."
        case .jetStream(let failure): return "The server refused: \(failure.text) (\(failure.errorCode))."
        }
    }

    private func quoted(_ text: String) -> String {
        "“" + String(text.unicodeScalars.prefix(128).map { $0.value < 0x20 ? "\u{FFFD}" : Character($0) }) + "”"
    }
}
