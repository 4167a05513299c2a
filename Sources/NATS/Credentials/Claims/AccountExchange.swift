/// A subject that an account offers to other accounts.
public struct AccountExport: Codable, Hashable, Sendable {
    /// How many answers a service gives to a request, which decides how long the server remembers the request.
    public enum ResponseType: String, Codable, Hashable, Sendable {
        /// One answer.
        case single = "Singleton"
        /// Any number, until the requester stops listening.
        case stream = "Stream"
    }

    /// A name for people.
    public var name: String
    /// The subject, wildcards allowed.
    public var subject: String
    /// Whether others may send requests to it or receive its messages.
    public var kind: AccountExchangeKind
    /// How many answers there are; nil for a stream.
    public var responseType: ResponseType?
    /// How long the server remembers a request without another answer, in nanoseconds; nil means 2 minutes.
    public var responseThreshold: Int64?

    /// Offers a service: others may send requests to the subject.
    public static func service(
        _ subject: String, name: String? = nil, responses: ResponseType = .single, threshold: Int64? = nil
    ) -> AccountExport {
        AccountExport(
            name: name ?? subject, subject: subject, kind: .service, responseType: responses,
            responseThreshold: threshold)
    }

    /// Offers a stream: others may receive what the account publishes on the subject.
    public static func stream(_ subject: String, name: String? = nil) -> AccountExport {
        AccountExport(name: name ?? subject, subject: subject, kind: .stream)
    }

    private enum CodingKeys: String, CodingKey {
        case name, subject
        case kind = "type"
        case responseType = "response_type"
        case responseThreshold = "response_threshold"
    }
}

/// A subject of another account that an account may use.
public struct AccountImport: Codable, Hashable, Sendable {
    /// A name for people.
    public var name: String
    /// The subject in the exporting account.
    public var subject: String
    /// The public key of the exporting account.
    public var account: String
    /// The subject in this account; nil means the same one. `$1` is replaced by the first `*` of ``subject``, and so
    /// on.
    public var localSubject: String?
    /// Whether it imports a service or a stream.
    public var kind: AccountExchangeKind

    /// Imports a service: the account may send requests to the subject, and the server returns the answers.
    public static func service(_ subject: String, of account: NKey, as localSubject: String? = nil) -> AccountImport {
        AccountImport(
            name: subject, subject: subject, account: account.text, localSubject: localSubject, kind: .service)
    }

    /// Imports a stream: the account receives what the other one publishes on the subject.
    public static func stream(_ subject: String, of account: NKey) -> AccountImport {
        AccountImport(name: subject, subject: subject, account: account.text, kind: .stream)
    }

    /// The subject that users of the importing account use, with `*` in place of `$1` and so on.
    public var usedSubject: String {
        guard let localSubject else { return subject }
        return localSubject.split(separator: ".", omittingEmptySubsequences: false)
            .map { $0.hasPrefix("$") && Int($0.dropFirst()) != nil ? "*" : String($0) }.joined(separator: ".")
    }

    private enum CodingKeys: String, CodingKey {
        case name, subject, account
        case localSubject = "local_subject"
        case kind = "type"
    }
}

/// The kind of an export or import.
public enum AccountExchangeKind: String, Codable, Hashable, Sendable {
    /// Requests go to the exporting account, and answers come back.
    case service
    /// Messages of the exporting account are delivered to the importing one.
    case stream
}

/// A redirection of a subject's messages.
public struct SubjectMapping: Codable, Hashable, Sendable {
    /// The destination. `$1` is replaced by the first `*` of the mapped subject, and a final `>` by its `>`, which
    /// servers before 2.10 refuse.
    public var subject: String
    /// The share of the messages, in percent.
    public var weight: Int

    /// Sends all messages of a subject to another one.
    public init(to subject: String) {
        self.subject = subject
        weight = 100
    }
}
