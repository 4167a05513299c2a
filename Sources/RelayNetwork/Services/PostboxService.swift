import NATS
import NIOCore
import Relay

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Creates, enables, disables and deletes users' postboxes: `relay.postbox.<user>.<verb>`.
///
/// Who asks is known by the subject, which only that user may publish to. A user's register is the truth; the stream's
/// subjects follow it, and whoever changed the register brings them in line, again when another host was faster.
struct PostboxService: Sendable {
    private let jetStream: JetStream
    private let bucket: KeyValueBucket

    init(jetStream: JetStream) throws(NATSError) {
        self.jetStream = jetStream
        bucket = try KeyValueBucket(NetworkProvision.postboxes, jetStream)
    }

    /// The answer to a request; nil for one that asks for an answer to somebody else.
    func reply(to message: NATSMessage) async -> [UInt8]? {
        let tokens = message.subject.split(separator: ".")
        guard tokens.count == 4, let user = try? UserName(String(tokens[2])) else { return nil }
        // The service may answer anywhere, so it checks that the answer goes to the one who asked.
        guard message.reply?.hasPrefix("\(user.inboxPrefix).") == true else { return nil }
        let payload = message.bytes
        let request: PostboxRequest
        if payload.isEmpty {
            request = PostboxRequest()
        } else if let decoded = try? JSONDecoder().decode(PostboxRequest.self, from: Data(payload)) {
            request = decoded
        } else {
            return Wire.json(PostboxReply(error: .invalidRequest))
        }
        return Wire.json(await reply(to: request, verb: String(tokens[3]), of: user))
    }

    private func reply(to request: PostboxRequest, verb: String, of user: UserName) async -> PostboxReply {
        do {
            let (register, _) = try await register(of: user)
            if verb == "list" { return PostboxReply(postboxes: register.postboxes) }
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
        // The stream first: a register without its stream would never be mended. Making either again changes nothing.
        try await alignStream(of: user, with: new)
        try await welcome(user)
        do throws(NATSError) {
            let revision = try await bucket.create(ByteBuffer(bytes: Wire.json(new)), for: user.key)
            return (new, revision)
        } catch {
            guard Self.isConflict(error), let known = try await stored(user) else { throw error }
            return known
        }
    }

    private func stored(_ user: UserName) async throws -> (PostboxRegister, revision: UInt64)? {
        guard let entry = try await bucket.get(user.key) else { return nil }
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
                guard Self.isConflict(error) else { throw error }
                continue
            }
            try await settle(user, register, revision)
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
        var stream = StreamConfiguration(name: user.postboxStream, subjects: register.subjects(of: user))
        stream.allowsDirectAccess = true
        stream.discard = .new
        stream.maximumMessages = 100_000
        stream.maximumBytes = 256 << 20
        stream.duplicateWindow = 120_000_000_000
        do throws(NATSError) {
            try await jetStream.createStream(stream)
        } catch {
            guard case .jetStream(let failure) = error, failure.errorCode == 10_058 else { throw error }
            try await jetStream.updateStream(stream)
        }
    }

    private func welcome(_ user: UserName) async throws(NATSError) {
        let letter = PostboxLetter(
            id: "welcome-\(user)", createdAt: Self.now, from: "parley",
            message: """
                Welcome, \(user)! This is your postbox "\(PostboxRegister.firstName)".
                Others can leave messages here while you are away: parley inbox post \(user)/\(PostboxRegister.firstName)
                They stay until you delete them. A postbox that you disable refuses new messages and keeps the old ones.
                """)
        _ = try await jetStream.publish(
            ByteBuffer(bytes: Wire.json(letter)),
            to: PostboxRegister.subject(PostboxRegister.firstName, of: user), messageID: letter.id)
    }

    private static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }

    private static func isConflict(_ error: NATSError) -> Bool {
        if case .jetStream(let failure) = error { KeyValueBucket.isConflict(failure) } else { false }
    }
}
