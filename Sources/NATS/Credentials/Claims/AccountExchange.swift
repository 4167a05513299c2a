/// A subject that an account offers to other accounts.
public struct AccountExport: Codable, Hashable, Sendable {
    /// How many answers a service gives to one request, which decides how long the server remembers the request.
    public enum ResponseType: String, Codable, Hashable, Sendable {
        /// One answer.
        case single = "Singleton"
        /// Any number, until the asker stops listening.
        case stream = "Stream"
    }

    /// A name for people.
    public var name: String
    /// The subject, wildcards allowed.
    public var subject: String
    /// What it is: others may send requests to it, or hear what is published on it.
    public var kind: AccountExchangeKind
    /// How many answers come; nil for a stream.
    public var responseType: ResponseType?
    /// How long the server remembers a request without a further answer, in nanoseconds; nil for 2 minutes.
    public var responseThreshold: Int64?

    /// Offers a service: others may send requests to the subject.
    public static func service(
        _ subject: String, name: String? = nil, responses: ResponseType = .single, threshold: Int64? = nil
    ) -> AccountExport {
        AccountExport(
            name: name ?? subject, subject: subject, kind: .service, responseType: responses,
            responseThreshold: threshold)
    }

    /// Offers a stream: others may hear what the account publishes on the subject.
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
    /// The subject in this account; nil means the same. `$1` is replaced by the first `*` of ``subject``, and so on.
    public var localSubject: String?
    /// What it is.
    public var kind: AccountExchangeKind

    /// Imports a service: the account may send requests to the subject, and the server brings the answers back.
    public static func service(_ subject: String, of account: NKey, as localSubject: String? = nil) -> AccountImport {
        AccountImport(
            name: subject, subject: subject, account: account.text, localSubject: localSubject, kind: .service)
    }

    /// Imports a stream: the account hears what the other one publishes on the subject.
    public static func stream(_ subject: String, of account: NKey) -> AccountImport {
        AccountImport(name: subject, subject: subject, account: account.text, kind: .stream)
    }

    /// The subject that users of the importing account use, with `*` in the place of `$1` and so on.
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

/// What an export or import is.
public enum AccountExchangeKind: String, Codable, Hashable, Sendable {
    /// Requests go to the exporting account, answers come back.
    case service
    /// Messages come from the exporting account.
    case stream
}

/// Where the messages of a subject go instead.
public struct SubjectMapping: Codable, Hashable, Sendable {
    /// The subject that they go to. `$1` is replaced by the first `*` of the mapped subject, and `>` at the end by its
    /// `>`, which servers before 2.10 refuse.
    public var subject: String
    /// The share of the messages, in percent.
    public var weight: Int

    /// Sends all messages of a subject to another one.
    public init(to subject: String) {
        self.subject = subject
        weight = 100
    }
}
