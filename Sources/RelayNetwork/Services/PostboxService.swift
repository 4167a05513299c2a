import NATS
import NIOConcurrencyHelpers
import NIOCore
import Platform
import Relay

/// Creates, renames, enables, disables and deletes users' postboxes (`relay.postbox.<user>.<verb>`), and tells senders
/// whether a postbox takes letters (`relay.recipient.<user>.<postbox>`).
///
/// A user's register is the truth and the stream's subjects follow it. The host that changed the register brings them
/// in line, and does so again if another host was faster.
struct PostboxService: Sendable {
    private let jetStream: JetStream
    private let bucket: KeyValueBucket
    private let plan: NetworkPlan
    private let users: any UserRegister
    /// Users whose postboxes are known to have been made.
    private let prepared = NIOLockedValueBox<Set<UserName>>([])

    init(
        jetStream: JetStream, plan: NetworkPlan, users: any UserRegister
    ) throws(NATSError) {
        self.jetStream = jetStream
        self.plan = plan
        self.users = users
        bucket = try KeyValueBucket(NetworkPlan.postboxes, jetStream)
    }

    /// Makes a user's first postbox before anything else is done with it. A failure is met again when it is used.
    func prepare(_ user: UserName) async {
        guard !prepared.withLockedValue({ $0.contains(user) }), (try? await register(of: user)) != nil else { return }
        prepared.withLockedValue { _ = $0.insert(user) }
    }

    /// Brings the streams of users in line with their registers.
    func align(_ users: [UserName]) async {
        for user in users {
            guard let known = try? await stored(user) else { continue }
            try? await alignStream(of: user, with: known.0)
        }
    }

    /// The answer to a user who wants to send a letter.
    func reply(aboutPostbox id: String, of name: String) async -> [UInt8] {
        Wire.json(RecipientReply(state: await standing(ofPostbox: id, of: name)))
    }

    /// Nil where nobody can say it now, so that the sender tries again.
    private func standing(ofPostbox id: String, of name: String) async -> RecipientReply.State? {
        guard let user = try? UserName(name) else { return .unknownUser }
        do {
            guard try await users.found(user) != nil else { return .unknownUser }
            let register = try await register(of: user).0
            guard let postbox = register.postboxes.first(where: { $0.id == id }) else { return .unknownPostbox }
            guard postbox.isEnabled else { return .disabled }
        } catch {
            return nil
        }
        return (try? await jetStream.streamInfo(user.postboxStream))?.isFull == true ? .full : .accepting
    }

    /// The answer to a request of the user's own.
    func reply(to payload: [UInt8], verb: String, of user: UserName) async -> [UInt8] {
        guard let request = payload.isEmpty ? PostboxRequest() : Wire.value(PostboxRequest.self, from: payload) else {
            return Wire.json(PostboxReply(error: .invalidRequest))
        }
        return Wire.json(await reply(to: request, verb: verb, of: user))
    }

    private func reply(to request: PostboxRequest, verb: String, of user: UserName) async -> PostboxReply {
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
        } catch let refusal as PostboxRegister.Refusal {
            return PostboxReply(error: refusal.failure)
        } catch {
            return PostboxReply(error: .unavailable)
        }
    }

    /// The user's register and its revision; on the user's first use it is made, with a stream and a welcome.
    private func register(of user: UserName) async throws -> (PostboxRegister, revision: UInt64) {
        if let known = try await stored(user) { return known }
        let new = PostboxRegister(sudoId: UUID().uuidString.lowercased(), at: Self.now)
        // The stream first: a register without its stream would never be mended.
        try await alignStream(of: user, with: new)
        try await welcome(user)
        // Where two services make it at once, one is seldom refused this way. Before 2.10 a server of a cluster that is
        // killed runs newer changes once more, as many as were refused.
        if let known = try await stored(user) { return try await settled(user, known) }
        do throws(NATSError) {
            let revision = try await bucket.create(ByteBuffer(bytes: Wire.json(new)), for: user.key)
            return (new, revision)
        } catch {
            guard error.isConflict, let known = try await stored(user) else { throw error }
            return try await settled(user, known)
        }
    }

    /// What another service has made, with its stream as it has it: that may have the subjects of a first register now.
    private func settled(
        _ user: UserName, _ known: (PostboxRegister, revision: UInt64)
    ) async throws -> (PostboxRegister, revision: UInt64) {
        try await settle(user, known.0, known.revision)
        return known
    }

    private func stored(_ user: UserName) async throws -> (PostboxRegister, revision: UInt64)? {
        guard let entry = try await bucket.current(user.key) else { return nil }
        let register = try JSONDecoder().decode(PostboxRegister.self, from: Data(entry.value.readableBytesView))
        return (register, entry.revision)
    }

    private func apply(
        _ change: PostboxRegister.Change, _ request: PostboxRequest, of user: UserName
    ) async throws -> PostboxReply.Entry {
        for _ in 0..<8 {
            var (register, revision) = try await register(of: user)
            let entry = try register.apply(change, request, at: Self.now)
            do throws(NATSError) {
                revision = try await bucket.update(
                    ByteBuffer(bytes: Wire.json(register)), for: user.key, revision: revision)
            } catch {
                guard error.isConflict else { throw error }
                continue
            }
            // A title is no part of an address.
            if change != .rename { try await settle(user, register, revision) }
            if change == .delete {
                try await jetStream.purgeStream(
                    user.postboxStream, filter: PostboxRegister.subject(entry.id, of: user))
            }
            return entry
        }
        throw PostboxRegister.Refusal(.unavailable)
    }

    /// Brings the stream in line with the register, until the register has not changed meanwhile.
    private func settle(_ user: UserName, _ register: PostboxRegister, _ revision: UInt64) async throws {
        var (register, revision) = (register, revision)
        for _ in 0..<8 {
            try await alignStream(of: user, with: register)
            guard let newest = try await stored(user), newest.revision != revision else { return }
            (register, revision) = newest
        }
    }

    private func alignStream(of user: UserName, with register: PostboxRegister) async throws(NATSError) {
        // On a cluster provision alone decides about the rest of a stream: what these services were given may be older.
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
            to: PostboxRegister.subject(PostboxRegister.firstName, of: user, from: HostRole.sender),
            messageID: letter.id)
    }

    private static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }
}

extension StreamInfo {
    /// The bytes of a letter that says hardly anything.
    private static let smallestLetter: UInt64 = 64

    /// Whether the stream takes no letter: it holds as many as it may, or so many bytes that none fits any more. Where
    /// it takes small ones, it says itself that a large one does not fit.
    var isFull: Bool {
        func isReached(_ bound: Int64?, by held: UInt64) -> Bool { bound.map { $0 > 0 && held >= UInt64($0) } ?? false }
        return isReached(configuration.maximumMessages, by: state.messages)
            || isReached(configuration.maximumBytes, by: state.bytes + Self.smallestLetter)
    }
}
