import NATS
import NIOCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// The user's own postboxes, kept by the network's host.
extension RelayClient {
    /// The user's postboxes. A user's first call has the network set up one named `personal`.
    public func postboxes() async throws(RelayError) -> [Postbox] {
        try await ask("list", PostboxRequest())
    }

    /// Makes a postbox and enables it.
    ///
    /// - Parameter name: 1 to 64 letters, digits, `_` and `-`.
    public func createPostbox(_ name: String) async throws(RelayError) -> Postbox {
        try await ask("create", name: name)
    }

    /// Enables a postbox, or disables it: a disabled one takes no letters and keeps those it has.
    public func updatePostbox(_ name: String, isEnabled: Bool) async throws(RelayError) -> Postbox {
        try await ask(isEnabled ? "enable" : "disable", name: name)
    }

    /// Deletes a postbox with its letters.
    public func deletePostbox(_ name: String) async throws(RelayError) -> Postbox {
        try await ask("delete", name: name)
    }

    private func ask(_ verb: String, name: String) async throws(RelayError) -> Postbox {
        guard let postbox = try await ask(verb, PostboxRequest(name: name)).first else { throw .notFound(name) }
        return postbox
    }

    private func ask(_ verb: String, _ request: PostboxRequest) async throws(RelayError) -> [Postbox] {
        guard let user, user.isSubjectToken else {
            throw .invalidArgument("The user is not known; sign in with credentials that name one")
        }
        guard let connection = link?.connection else { throw .notConnected }
        let name = request.name ?? "the postboxes"
        guard let question = try? JSONEncoder().encode(request) else { throw .invalidArgument("\(name) is not a name") }
        let answer: NATSMessage
        do throws(NATSError) {
            answer = try await connection.request(
                ByteBuffer(bytes: question), to: "relay.postbox.\(user).\(verb)", timeout: .seconds(10))
        } catch .noResponders {
            throw .server(code: 503, "this network has no postbox service")
        } catch {
            throw RelayError(error, during: "the postbox service")
        }
        guard let reply = try? JSONDecoder().decode(PostboxReply.self, from: Data(answer.bytes)) else {
            throw .server(code: 500, "the postbox service's answer is not readable")
        }
        switch reply.error {
        case nil: break
        case .invalidName: throw .invalidArgument("A postbox's name has 1 to 64 letters, digits, _ and -")
        case .exists: throw .invalidArgument("There is a postbox \(name) already")
        case .notFound: throw .notFound("The postbox \(name)")
        case .limitExceeded: throw .server(code: 429, "there are as many postboxes as one may have")
        case .invalidRequest: throw .server(code: 400, "the postbox service did not understand")
        case .unavailable: throw .timeout("The postbox service")
        }
        return (reply.postboxes ?? []).map { entry in
            Postbox(
                id: entry.id, name: entry.name, sudoId: entry.sudoId, isEnabled: entry.isEnabled,
                createdAt: Timestamp(milliseconds: entry.createdAt))
        }
    }
}
