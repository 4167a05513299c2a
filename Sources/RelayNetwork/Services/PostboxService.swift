import NATS
import NIOConcurrencyHelpers
import NIOCore
import Platform
import Relay

/// Creates, renames, enables, disables and deletes users' postboxes (`relay.postbox.<user>.<verb>`), and tells senders
/// whether a postbox accepts letters (`relay.recipient.<user>.<postbox>`).
///
/// A user's register is authoritative and the stream's subjects follow it. The host that changed the register updates
/// them, and repeats that if another host was faster.
struct PostboxService: Sendable {
    private let jetStream: JetStream
    private let bucket: KeyValueBucket
    private let plan: NetworkPlan
    private let users: any UserRegister
    private let prepared = NIOLockedValueBox<Set<UserName>>([])

    init(jetStream: JetStream, plan: NetworkPlan, users: any UserRegister) throws(NATSError) {
        (self.jetStream, self.plan, self.users) = (jetStream, plan, users)
        bucket = try KeyValueBucket(NetworkPlan.postboxes, jetStream)
    }

    /// Makes a user's first postbox in advance. A failure recurs when it is used.
    func prepare(_ user: UserName) async {
        guard !prepared.withLockedValue({ $0.contains(user) }), (try? await register(of: user)) != nil else { return }
        prepared.withLockedValue { _ = $0.insert(user) }
    }

    func align(_ users: [UserName]) async {
        for user in users {
            guard let known = try? await stored(user) else { continue }
            try? await alignStream(of: user, with: known.value)
        }
    }

    /// Nil if it cannot be determined now, so that the sender tries again.
    func state(ofPostbox id: String, of name: String) async -> RecipientReply.State? {
        guard let user = try? UserName(name) else { return .unknownUser }
        do {
            guard try await users.record(of: user) != nil else { return .unknownUser }
            let register = try await register(of: user).value
            guard let postbox = register.postboxes.first(where: { $0.id == id }) else { return .unknownPostbox }
            guard postbox.isEnabled else { return .disabled }
        } catch {
            return nil
        }
        return (try? await jetStream.streamInfo(user.postboxStream))?.isFull == true ? .full : .accepting
    }

    func reply(to payload: [UInt8], verb: String, of user: UserName) async -> PostboxReply {
        guard let request = payload.isEmpty ? PostboxRequest() : Wire.value(PostboxRequest.self, from: payload) else {
            return PostboxReply(error: .invalidRequest)
        }
        do {
            let (register, _) = try await register(of: user)
            if verb == "list" {
                return PostboxReply(
                    postboxes: register.postboxes.filter { request.sudoId.map([$0.sudoId].contains) ?? true })
            }
            guard let change = PostboxRegister.Change(rawValue: verb) else {
                return PostboxReply(error: .invalidRequest)
            }
            return PostboxReply(postboxes: [try await apply(change, request, of: user)])
        } catch let failure as PostboxReply.Failure {
            return PostboxReply(error: failure)
        } catch {
            return PostboxReply(error: .unavailable)
        }
    }

    /// The user's register and its revision; made on first use, with a stream and a welcome.
    private func register(of user: UserName) async throws -> (value: PostboxRegister, revision: UInt64) {
        if let known = try await stored(user) { return known }
        let new = PostboxRegister(sudoId: UUID().uuidString.lowercased(), at: Self.now)
        // The stream first: a register without its stream would never be repaired.
        try await alignStream(of: user, with: new)
        try await welcome(user)
        // A service seldom loses the race after this check. Before 2.10, a clustered server that is killed applies as
        // many newer changes again as were refused.
        if let known = try await stored(user) { return try await settle(user, known) }
        do throws(NATSError) {
            let revision = try await bucket.create(ByteBuffer(bytes: Wire.json(new)), for: user.key)
            return (new, revision)
        } catch {
            guard error.isConflict, let known = try await stored(user) else { throw error }
            return try await settle(user, known)
        }
    }

    private func stored(_ user: UserName) async throws -> (value: PostboxRegister, revision: UInt64)? {
        try await bucket.decoded(PostboxRegister.self, user.key)
    }

    private func apply(
        _ change: PostboxRegister.Change, _ request: PostboxRequest, of user: UserName
    ) async throws -> PostboxReply.Entry {
        for _ in 0..<8 {
            var (register, revision) = try await register(of: user)
            let entry: PostboxReply.Entry
            do throws(PostboxReply.Failure) { entry = try register.apply(change, request, at: Self.now) } catch {
                try await finish(change, request.name, of: user, (register, revision), refused: error)
                throw error
            }
            do throws(NATSError) {
                revision = try await bucket.update(
                    ByteBuffer(bytes: Wire.json(register)), for: user.key, revision: revision)
            } catch {
                guard error.isConflict else { throw error }
                continue
            }
            // A title is not part of an address.
            if change != .rename { _ = try await settle(user, (register, revision)) }
            if change == .delete { try await deleteLetters(in: entry.id, of: user) }
            return entry
        }
        throw PostboxReply.Failure.unavailable
    }

    /// Completes a change that was refused as already made: its service may have ended halfway.
    private func finish(
        _ change: PostboxRegister.Change, _ name: String?, of user: UserName,
        _ known: (value: PostboxRegister, revision: UInt64), refused failure: PostboxReply.Failure
    ) async throws {
        switch (change, failure) {
        case (.create, .exists): _ = try await settle(user, known)
        case (.delete, .notFound):
            guard let name, !known.value.postboxes.contains(where: { $0.name == name }) else { return }
            _ = try await settle(user, known)
            try await deleteLetters(in: name, of: user)
        default: break
        }
    }

    private func deleteLetters(in postbox: String, of user: UserName) async throws(NATSError) {
        try await jetStream.purgeStream(
            user.postboxStream, filter: NetworkNames.letters(to: user.text, postbox, from: "*"))
    }

    /// Updates the stream until the register no longer changes meanwhile: if another service made the register, the
    /// stream may have the subjects of a new one.
    private func settle(
        _ user: UserName, _ known: (value: PostboxRegister, revision: UInt64)
    ) async throws -> (value: PostboxRegister, revision: UInt64) {
        var known = known
        for _ in 0..<8 {
            try await alignStream(of: user, with: known.value)
            guard let newest = try await stored(user), newest.revision != known.revision else { break }
            known = newest
        }
        return known
    }

    private func alignStream(of user: UserName, with register: PostboxRegister) async throws(NATSError) {
        // On a cluster only provisioning decides other settings: these services may have been given older ones.
        let isOnCluster = plan.placement != nil
        try await jetStream.provide(
            plan.letters(of: user, in: register), changing: isOnCluster ? ["subjects"] : nil,
            losing: isOnCluster ? [] : [.messages])
    }

    private func welcome(_ user: UserName) async throws(NATSError) {
        let letter = PostboxLetter(
            id: "welcome-\(user)", createdAt: Self.now,
            message: """
                Welcome, \(user)! This is your postbox "\(PostboxRegister.firstName)".
                Others can leave messages here while you are away: parley inbox post \(user)/\(PostboxRegister.firstName)
                They stay until you delete them. A postbox that you disable refuses new messages and keeps the old ones.
                """)
        _ = try await jetStream.publish(
            ByteBuffer(bytes: Wire.json(letter)),
            to: NetworkNames.letters(to: user.text, PostboxRegister.firstName, from: HostRole.sender),
            messageID: letter.id)
    }

    private static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }
}

extension StreamInfo {
    private static let smallestLetter: UInt64 = 64

    /// Whether the stream accepts no letter at all; it refuses single large ones itself.
    var isFull: Bool {
        func isReached(_ bound: Int64?, by held: UInt64) -> Bool { bound.map { $0 > 0 && held >= UInt64($0) } ?? false }
        return isReached(configuration.maximumMessages, by: state.messages)
            || isReached(configuration.maximumBytes, by: state.bytes + Self.smallestLetter)
    }
}
