/// Any failure of a call of the client core.
///
/// Each case's ``words`` say what happened and what to do next. No case carries a secret: texts come from the caller's
/// own arguments (a topic, an identifier) or from the server's public error messages.
public enum RelayError: Error, Hashable, Sendable {
    /// The API key or the secret is empty or malformed. Found before any network access.
    case invalidCredentials(String)
    /// The client was used before it was prepared (RongCloud 33001).
    case notInitialized
    /// The call needs a connection and there is none.
    case notConnected
    /// This operation depends on the network's present state, so that it cannot wait for a connection, and there is
    /// none.
    case needsConnection(String)
    /// The client is already connected as another user (RongCloud 34001).
    case alreadyConnected
    /// The topic is malformed, reserved, or a wildcard where a concrete topic is needed.
    case invalidTopic(String)
    /// The message cannot be encoded or decoded.
    case invalidMessage(String)
    /// The message is larger than the client or the server accepts. Both figures are bytes of its content: for a line
    /// or a letter, of its text.
    case tooLarge(bytes: Int, limit: Int)
    /// The outbox is full, and its policy refuses or drops messages.
    case outboxFull
    /// An argument is out of its range.
    case invalidArgument(String)
    /// The page token is damaged, or was issued for another postbox (Nexconn 25432).
    case invalidToken
    /// Nothing exists with this identifier any more.
    case notFound(String)
    /// The key changed meanwhile, so nothing was stored: it has this revision, or 0 if it never had a value (Nexconn
    /// and RongCloud 23431).
    case conflict(key: String, revision: UInt64)
    /// The postbox, written `user/postbox`, refuses messages, for the network's reason if it gives one.
    case postboxNotAccepting(String, because: RecipientReply.State? = nil)
    /// The server's permissions forbid this operation.
    case notAuthorized(String)
    /// The message with this identifier was sent, but its answer was lost, and whether it was stored cannot be found
    /// out.
    case uncertain(String)
    /// No answer within the deadline. The text names the operation.
    case timeout(String)
    /// The same operation is already running (Nexconn 33103).
    case busy(String)
    /// The connection ended for this reason.
    case connection(ConnectionReason)
    /// The server answered with an error.
    case server(code: Int, String)
    /// The caller gave up.
    case cancelled
    /// The local store failed (RongCloud 33002).
    case storage(String)
}

extension RelayError {
    /// What happened and what to do next, in one or two sentences.
    ///
    /// A detail may be a sentence with its own full stop, or a clause without one.
    public var words: String {
        switch self {
        case .invalidCredentials(let detail): "The credentials are not valid: \(Self.clause(detail))."
        case .notInitialized: "The client is not prepared yet. Call prepare before connect."
        case .notConnected: "There is no connection. Connect first."
        case .needsConnection(let operation):
            "\(operation) cannot wait for a connection, and there is none. Try again when connected."
        case .alreadyConnected: "Already connected as another user. Close that connection first."
        case .invalidTopic(let detail): detail
        case .invalidMessage(let detail): "The message cannot be used: \(Self.clause(detail))."
        case .tooLarge(let bytes, let limit):
            "The message takes \(bytes) bytes and at most \(limit) are accepted. Shorten it."
        case .outboxFull: "The outbox is full. Wait for the connection to return, then send again."
        case .invalidArgument(let detail): "\(Self.clause(detail))."
        case .invalidToken: "The page token is invalid. Start again from the first page."
        case .notFound(let what): "\(what) does not exist, or was deleted."
        case .conflict(let key, 0): "The key \(key) has no value, so nothing was changed. Read it, then decide again."
        case .conflict(let key, let revision):
            "The key \(key) now has revision \(revision), so nothing was changed. Read it, then decide again."
        case .postboxNotAccepting(let postbox, let state): Self.refusal(postbox, state)
        case .notAuthorized(let what):
            "Not permitted: \(Self.clause(what)). Ask the network's administrator for access."
        case .uncertain(let id):
            "Whether the message \(id) was stored is not known. Sending it again may repeat it; dropping it may lose it."
        case .timeout(let operation): "\(operation) was not answered in time. It is safe to try again."
        case .busy(let operation): "\(operation) is already running. Wait for it to finish."
        case .connection(let reason): reason.words
        case .server(let code, let text): "The server refused with \(code): \(Self.clause(text))."
        case .cancelled: "Cancelled."
        case .storage(let detail):
            "The local store failed: \(Self.clause(detail)). Messages still travel; history is not kept."
        }
    }

    /// Why a postbox refuses messages.
    private static func refusal(_ address: String, _ state: RecipientReply.State?) -> String {
        let parts = address.split(separator: "/", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { return "The postbox \(address) does not accept messages." }
        switch state {
        case .unknownUser: return "There is no user \(parts[0]). Check the name."
        case .unknownPostbox: return "\(parts[0]) has no postbox \(parts[1]). Try \(parts[0])/personal."
        case .disabled: return "\(parts[0])'s postbox \(parts[1]) takes no letters now. Ask its owner to enable it."
        case .full: return "\(parts[0])'s postbox \(parts[1]) is full. Ask its owner to delete letters."
        case .accepting, nil:
            return "The postbox \(address) does not accept messages, for no known reason. Ask its owner to enable it."
        }
    }

    /// A detail without a final full stop, which the sentence adds.
    private static func clause(_ detail: String) -> String {
        detail.hasSuffix(".") ? String(detail.dropLast()) : detail
    }
}

extension RelayError: CustomStringConvertible {
    /// The same text as ``words``.
    public var description: String { words }
}
