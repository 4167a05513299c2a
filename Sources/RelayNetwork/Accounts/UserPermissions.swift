import NATS
import Relay

/// What a user of the network may do, as the imports of the user's account, which the host signs.
///
/// Users can read and delete only in their own postbox stream, send letters only under their own name, use only granted
/// topics, and receive answers only in their own account. Permissions within one account could not enforce that:
/// JetStream and services answer to any reply subject that a request names, with their own rights.
package struct UserPermissions: Hashable, Sendable {
    let user: UserName
    /// The rights, with no topic within another.
    let rights: AccessRights
    let namespace: String
    let hash: String

    /// The prefix of the subjects of JetStream's API in a user's account. Under `$JS.API` itself the server answers
    /// that the account has no JetStream.
    package static let apiPrefix = "net.API"

    /// Increased whenever the imports change, so that a network's accounts are signed again at its next start.
    static let importsVersion = 4

    /// A pattern that ends in the token `*` is refused: NATS matches a subscription's `>` with an allowed `*`, so the
    /// server would let the user read every level below. Overlapping patterns of one direction are refused too unless
    /// one covers the other: a message on a shared topic would be stored twice.
    /// - Throws: `NetworkError.invalidGrant`.
    init(user: UserName, rights: AccessRights, namespace: String, hash: String) throws(NetworkError) {
        let isSame = rights.publish == rights.subscribe
        var rights = rights
        rights.subscribe = try Self.separate(rights.subscribe)
        rights.publish = isSame ? rights.subscribe : try Self.separate(rights.publish)
        (self.user, self.rights, self.namespace, self.hash) = (user, rights, namespace, hash)
    }

    private static func separate(_ topics: [String]) throws(NetworkError) -> [String] {
        var kept: [String] = []
        for text in topics {
            try check(text)
            if kept.contains(where: { SubjectPattern.covers($0, text) }) { continue }
            kept.removeAll { SubjectPattern.covers(text, $0) }
            if let other = kept.first(where: { SubjectPattern.overlaps($0, text) }) {
                throw .invalidGrant(
                    topics: text, reason: "it overlaps \(other); grant a pattern that covers both.")
            }
            kept.append(text)
        }
        return kept
    }

    private static func check(_ text: String) throws(NetworkError) {
        do throws(TopicError) { _ = try TopicPattern(text) } catch {
            throw .invalidGrant(topics: text, reason: error.description)
        }
        if text == "*" || text.hasSuffix(".*") {
            throw .invalidGrant(
                topics: text, reason: "end in > to grant all below, or name each topic; a last * cannot be enforced.")
        }
    }

    var grantsEverything: Bool { rights.subscribe.contains(">") }

    var subjects: [String] { rights.subscribe.map { "\(hash).\($0)" } }

    func imports(from network: NKey) -> [AccountImport] {
        let bucket = NetworkNames.stream(ofBucket: namespace)
        var calls = ["INFO"]
        var acknowledged: [String] = []
        var plain = rights.publish.map { "\(hash).\($0)" }
        plain += [NetworkNames.namespace, NetworkNames.enrolment(of: user.text)]
        if rights.letters {
            calls += wholeStream(user.postboxStream) + ["STREAM.MSG.DELETE.\(user.postboxStream)"]
            acknowledged.append(user.postboxStream)
            plain += [NetworkNames.postboxes(of: user.text, "*"), NetworkNames.recipient("*", "*")]
        }
        if !rights.subscribe.isEmpty {
            calls += topicCalls + presenceCalls
            acknowledged.append(NetworkNames.topicStream(of: namespace))
            plain += rights.subscribe.map { PresenceBucket.own(user, in: $0) }
        }
        if rights.keyValue > .none {
            calls += wholeStream(bucket)
            acknowledged.append(bucket)
        }
        if rights.keyValue == .write { plain.append(NetworkNames.key(">", in: namespace)) }
        // A user who only reads cannot take a session from the user's other clients.
        if !rights.publish.isEmpty || rights.letters {
            calls += sessionCalls
            plain.append(NetworkNames.key(user.key, in: SessionBucket.name))
        }
        plain += acknowledged.map { "$JS.ACK.\($0).>" }
        var imports = calls.map { AccountImport.service("$JS.API.\($0)", of: network, as: "\(Self.apiPrefix).\($0)") }
        imports += plain.map { .service($0, of: network) }
        imports.append(.service(NetworkNames.streams(of: user.text), of: network, as: "\(Self.apiPrefix).STREAM.NAMES"))
        // The server writes the last token, which names the sender.
        if rights.letters {
            imports.append(
                .service(
                    NetworkNames.letters(to: "*", "*", from: user.text), of: network,
                    as: NetworkNames.letters(to: "$1", "$2")))
        }
        imports.append(.stream(NetworkNames.control(of: user.text), of: network))
        // RelayX's Python SDK has consumers push to an inbox. Only a user who may read everything may hear all inboxes.
        if grantsEverything, rights.letters, rights.keyValue > .none {
            imports.append(.stream("_INBOX.>", of: network))
        }
        return imports
    }

    /// The permissions of users whose token has none. Imports keep users apart; these make the server report refusals.
    func defaults(network: NKey) -> Permissions {
        let imports = imports(from: network)
        let services = imports.filter { $0.kind == .service }.map(\.usedSubject)
        let control = [NetworkNames.control(of: user.text)]
        return Permissions(
            pub: SubjectRules(allow: services + ["\(JetStream.standardPrefix).>"]),
            sub: SubjectRules(allow: subjects + control + ["_INBOX.>", "_INBOX_\(user).>"]))
    }

    /// The same calls under JetStream's usual prefix, for clients that know no other.
    static func mappings(_ style: MappingStyle) -> [String: [SubjectMapping]] {
        let standard = JetStream.standardPrefix
        switch style {
        case .wildcards: return ["\(standard).>": [SubjectMapping(to: "\(apiPrefix).>")]]
        case .tokens:
            let pairs = (1...20).map { count in
                let stars = Array(repeating: "*", count: count).joined(separator: ".")
                let places = (1...count).map { "$\($0)" }.joined(separator: ".")
                return ("\(standard).\(stars)", [SubjectMapping(to: "\(apiPrefix).\(places)")])
            }
            return Dictionary(uniqueKeysWithValues: pairs)
        }
    }

    enum MappingStyle: String, Codable, Hashable, Sendable {
        /// With one mapping (2.10 or later).
        case wildcards
        /// With one mapping per number of tokens (before 2.10). A filter that ends in `>` is then not mapped.
        case tokens
    }

    /// The calls that the grants need on the shared stream; with the grant `>`, unfiltered ones too. Consumers are made
    /// with their filter in the subject, which the server compares with the request, so that none reads other topics.
    /// STREAM.INFO can list all topics, so it is only for those who may read all of them.
    private var topicCalls: [String] {
        let stream = NetworkNames.topicStream(of: namespace)
        guard !grantsEverything else { return wholeStream(stream) }
        return subjects.flatMap { ["CONSUMER.CREATE.\(stream).*.\($0)", "DIRECT.GET.\(stream).\($0)"] }
            + readerCalls(stream)
    }

    /// Reads and watches the user's own key in the bucket of sessions, and no other.
    private var sessionCalls: [String] {
        let stream = NetworkNames.stream(ofBucket: SessionBucket.name)
        let subject = NetworkNames.key(user.key, in: SessionBucket.name)
        return ["DIRECT.GET.\(stream).\(subject)", "CONSUMER.CREATE.\(stream).*.\(subject)"] + readerCalls(stream)
    }

    /// Presence in the granted topics only: here, too, the filter is in the subject.
    private var presenceCalls: [String] {
        let stream = PresenceBucket.stream
        return rights.subscribe.map { "CONSUMER.CREATE.\(stream).*.\(PresenceBucket.everybody(in: $0))" }
            + readerCalls(stream)
    }

    private func wholeStream(_ stream: String) -> [String] {
        [
            "STREAM.INFO.\(stream)", "STREAM.MSG.GET.\(stream)", "DIRECT.GET.\(stream)", "DIRECT.GET.\(stream).>",
            "CONSUMER.CREATE.\(stream)", "CONSUMER.CREATE.\(stream).>",
        ] + readerCalls(stream)
    }

    private func readerCalls(_ stream: String) -> [String] {
        ["CONSUMER.MSG.NEXT.\(stream).*", "CONSUMER.INFO.\(stream).*", "CONSUMER.DELETE.\(stream).*"]
    }
}
