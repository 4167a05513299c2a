/// The meaning of a `-ERR` line.
enum ServerErrorText: Equatable {
    /// The error ends the connection.
    case fatal(NATSError)
    /// A publish was refused; the connection stays open.
    case publishRefused(subject: String)
    /// A subscription was refused or removed; the connection stays open. Newer servers send its number when a change of
    /// permissions removes it.
    case subscriptionRefused(subject: String, queue: String?, sid: UInt64?)
    /// Something else was refused; the connection stays open.
    case notice(NATSError)

    /// Parses the text between the quotes of a `-ERR` line. Servers append details, so prefixes decide.
    init(_ text: String) {
        let lower = text.lowercased()
        func begins(_ prefix: String) -> Bool { lower.hasPrefix(prefix) }
        if let failure = NATSError.AuthorizationFailure.allCases.first(where: { begins($0.rawValue.lowercased()) }) {
            self = .fatal(.authorization(failure))
        } else if begins("authentication timeout") {
            self = .fatal(.timeout("the login took too long for the server"))
        } else if begins("permissions violation for publish") {
            self = .publishRefused(subject: Self.quotedSubject(text))
        } else if begins("permissions violation for subscription") {
            self = .subscriptionRefused(
                subject: Self.quotedSubject(text), queue: Self.quoted(after: "using queue ", in: text),
                sid: Self.quoted(after: "(sid ", in: text).flatMap { UInt64($0) })
        } else if begins("maximum subscriptions exceeded") {
            self = .notice(.subscriptionLimit)
        } else if begins("maximum account active connections exceeded") || begins("maximum connections exceeded")
            || begins("connection throttling") || begins("failed account registration")
        {
            self = .fatal(.connectionLimit(text))
        } else if begins("stale connection") {
            self = .fatal(.staleConnection)
        } else if begins("secure connection - tls required") {
            self = .fatal(.tlsRequired)
        } else if begins("invalid subject") || begins("invalid publish subject") {
            self = .notice(.invalidSubject(Self.quotedSubject(text)))
        } else if begins("maximum payload violation") || begins("maximum control line exceeded")
            || begins("unknown protocol operation") || begins("invalid client protocol")
            || begins("no responders requires headers support") || begins("parser error")
        {
            self = .fatal(.protocolViolation("it answered \(text)"))
        } else {
            self = .fatal(.closedByServer(text))
        }
    }

    private static func quotedSubject(_ text: String) -> String { quoted(after: "", in: text) ?? "" }

    /// The first quoted text directly after `words`, and after the subject unless `words` is empty.
    private static func quoted(after words: String, in text: String) -> String? {
        let parts = text.split(separator: "\"", omittingEmptySubsequences: false)
        var index = words.isEmpty ? 1 : 3
        while index < parts.count {
            if words.isEmpty || parts[index - 1].hasSuffix(words) { return String(parts[index]) }
            index += 2
        }
        return nil
    }
}
