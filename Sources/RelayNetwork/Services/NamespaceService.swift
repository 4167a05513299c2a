import Logging
import NATS
import NIOConcurrencyHelpers
import Relay

/// Tells a client the names in the network's subjects, as RelayX does, and the client's rights.
struct NamespaceService: Sendable {
    static let subject = NetworkNames.namespace

    let names: NetworkIdentity.Names
    let users: any UserRegister
    let issuer: UserTokenIssuer
    let jetStream: JetStream
    /// When the stream of topics was made, and how long that stays cached.
    private let made = NIOLockedValueBox<(time: Int64, until: ContinuousClock.Instant)?>(nil)

    struct Reply: Codable {
        /// RelayX's SDKs read the first two and ignore the others.
        struct Names: Codable {
            var namespace: String
            var hash: String
            var api: String
            var topics: [String]
            var rights: AccessRights
            /// When the stream of topics was made, in nanoseconds since 1970; nil if unknown.
            var created: Int64?
            /// Whether direct reads may have many answers, as this version's exports allow.
            var batches = true
        }

        var status = "NAMESPACE_RETRIEVE_FAILURE"
        var data: Names?
        /// A proof of the reason for refusal, which only the network can have signed.
        var refusal: String?
        /// Whether to ask again later, or use the known names.
        var busy: Bool?
    }

    func reply(to user: UserName, in account: String) async -> [UInt8]? {
        guard let known = try? await (record: users.record(of: user), block: users.block()) else { return nil }
        guard let record = known.record else { return Wire.json(Reply()) }
        let now = NetworkAdministrator.now
        if let closure = record.closure(block: known.block, at: now) {
            let proof = try? closure.proof(for: user.text, signedBy: issuer.signingKey, at: now)
            return Wire.json(Reply(refusal: proof))
        }
        let rights = record.rights(ofAccount: account)
        let answer = Reply.Names(
            namespace: names.namespace, hash: names.hash, api: UserPermissions.apiPrefix, topics: rights.subscribe,
            rights: rights, created: await streamMade())
        return Wire.json(Reply(status: "NAMESPACE_RETRIEVE_SUCCESS", data: answer))
    }

    /// Queried at most once a second.
    private func streamMade() async -> Int64? {
        let now = ContinuousClock.now
        if let known = made.withLockedValue(\.self), known.until > now { return known.time }
        let stream = NetworkNames.topicStream(of: names.namespace)
        guard let created = try? await jetStream.streamInfo(stream).created.nanoseconds else { return nil }
        made.withLockedValue { $0 = (created, now + .seconds(1)) }
        return created
    }

    /// JetStream's own words while it is unavailable.
    static let noStreams = Array(
        (#"{"type":"io.nats.jetstream.api.v1.stream_names_response","error":{"code":503,"err_code":10008,"#
            + #""description":"JetStream system temporarily unavailable"}}"#).utf8)

    /// The streams that a user may read, in the form of JetStream's own call, which would list all users' streams: a
    /// client that subscribes to a subject asks for its stream. An unreadable request asks for all.
    static func streams(of user: UserName, asked payload: [UInt8], _ names: NetworkIdentity.Names) -> [UInt8] {
        let asked = (try? JSONText.parse(bytes: payload))?["subject"]?.stringValue
        let streams = [
            (names.hash + ".", NetworkNames.topicStream(of: names.namespace)),
            (NetworkNames.letters(to: user.text, ""), user.postboxStream),
            (NetworkNames.key("", in: names.namespace), NetworkNames.stream(ofBucket: names.namespace)),
        ].filter { stem, _ in asked.map { $0.isEmpty || $0 == ">" || $0.hasPrefix(stem) } ?? true }.map(\.1)
        let reply: MessageValue = [
            "type": "io.nats.jetstream.api.v1.stream_names_response", "total": .int(Int64(streams.count)), "offset": 0,
            "limit": 1_024, "streams": .array(streams.map(MessageValue.string)),
        ]
        return Array(JSONText.text(reply).utf8)
    }
}

/// Exchanges invitations for credentials (`relay.enrol.<user>`). The secret key stays with the client.
struct EnrolmentService: Sendable {
    let users: any UserRegister
    let issuer: UserTokenIssuer
    var logger = Logger.silent

    func reply(to payload: [UInt8], of user: UserName) async -> [UInt8] {
        do throws(NetworkError) {
            let token = try await token(payload, user)
            logger.info("an invitation was used", metadata: ["user": "\(user)"])
            return Wire.json(EnrolmentReply(token: token))
        } catch {
            let failure: InvitationFailure = if case .invitation(let failure) = error { failure } else { .unavailable }
            logger.debug("an invitation is refused", metadata: ["user": "\(user)", "reason": "\(failure.rawValue)"])
            return Wire.json(EnrolmentReply(error: failure.rawValue))
        }
    }

    private func token(_ payload: [UInt8], _ user: UserName) async throws(NetworkError) -> String {
        guard let request = Wire.value(EnrolmentRequest.self, from: payload),
            let invitation = try? NKey(request.invitation), invitation.kind == .user, let key = try? NKey(request.key),
            key.kind == .user, let proof = Base64URL.decode(request.proof.utf8),
            invitation.isValidSignature(proof, for: EnrolmentRequest.statement(user: user.text, key: request.key))
        else { throw .invitation(.damaged) }
        let record = try await users.redeem(
            request.invitation, for: request.key, of: user, at: NetworkAdministrator.now)
        return try issuer.token(for: key, name: user.text, account: record.accountKey(), expires: record.expires)
    }
}
