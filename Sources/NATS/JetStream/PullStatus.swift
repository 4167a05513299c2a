/// What the server says of a pull in place of a message.
enum PullStatus: Equatable {
    /// It goes on waiting.
    case alive
    /// Its time is up, there is nothing for it, or it has brought as many messages as it asked for.
    case ended
    /// The next message does not fit into what is left of its bytes.
    case tooSmall
    /// Nobody has heard it: the consumer is gone, or this server does not know of it yet, as a cluster's other servers
    /// may not where one has just made it.
    case unheard
    /// It was refused, or what it asked is gone.
    case failed(JetStreamFailure)

    /// Reads a message; nil for one without a status.
    init?(_ message: NATSMessage) {
        guard message.hasStatusLine, let block = message.headerBlock, let status = block.status else { return nil }
        let text = block.statusText ?? "pull refused"
        switch status {
        case 100: self = .alive
        case 404, 408: self = .ended
        case 409 where text.lowercased().contains("batch completed"): self = .ended
        case 409 where text.lowercased().contains("message size exceeds"): self = .tooSmall
        case 503 where block.statusText == nil: self = .unheard
        default: self = .failed(JetStreamFailure(code: status, errorCode: 0, text: text))
        }
    }
}
