import NATS
import NIOCore
import Platform

/// Asks the network's host about the user's own postboxes, over one connection.
struct PostboxServiceClient: Sendable {
    let owner: String
    let connection: NATSConnection
    /// The time limit of an answer.
    var timeLimit = Duration.seconds(10)

    /// All postboxes, or those of a persona. A user's first call has the network create one named `personal`.
    func postboxes(of persona: String?) async throws(RelayError) -> [Postbox] {
        let all = try await ask("list", PostboxRequest(sudoId: persona))
        guard let persona else { return all }
        // Hosts of earlier versions list all.
        return all.filter { $0.sudoId == persona }
    }

    /// Changes one postbox, which must belong to the persona if one is given.
    ///
    /// - Parameter verb: `create`, `enable`, `disable`, `rename` or `delete`.
    func change(
        _ verb: String, _ name: String, of persona: String?, title: String? = nil
    ) async throws(RelayError) -> Postbox {
        let request = PostboxRequest(name: name, sudoId: persona, title: title)
        guard let postbox = try await ask(verb, request).first else { throw .notFound(name) }
        return postbox
    }

    /// The error for an invalid title.
    static let invalidTitle = RelayError.invalidArgument(
        "A postbox's title is a line of 1 to \(PostboxRequest.maximumTitleBytes) bytes, without invisible characters")

    private func ask(_ verb: String, _ request: PostboxRequest) async throws(RelayError) -> [Postbox] {
        let name = request.name ?? "the postboxes"
        guard let question = try? JSONEncoder().encode(request) else { throw .invalidArgument("\(name) is not a name") }
        let answer: NATSMessage
        do throws(NATSError) {
            answer = try await connection.request(
                ByteBuffer(bytes: question), to: NetworkNames.postboxes(of: owner, verb), timeout: timeLimit)
        } catch .noResponders {
            throw .server(code: 503, "no postbox service answers on this network now")
        } catch .publishNotPermitted {
            throw .notAuthorized("using postboxes")
        } catch {
            throw RelayError(error, during: "the postbox service")
        }
        guard let reply = try? JSONDecoder().decode(PostboxReply.self, from: Data(answer.bytes)) else {
            throw .server(code: 500, "the postbox service's answer is not readable")
        }
        return try Self.postboxes(in: reply, about: name)
    }

    /// The postboxes in the host's answer.
    ///
    /// - Parameters:
    ///   - reply: The answer.
    ///   - name: The postbox that was asked about.
    /// - Throws: The host's refusal.
    static func postboxes(in reply: PostboxReply, about name: String) throws(RelayError) -> [Postbox] {
        switch reply.error {
        case nil: break
        case .invalidName: throw .invalidArgument("A postbox's name has 1 to 64 letters, digits, _ and -")
        case .invalidTitle: throw invalidTitle
        case .titleTaken: throw .invalidArgument("Another postbox already has that name or title")
        case .exists: throw .invalidArgument("There is already a postbox \(name), or one with that title")
        case .notFound: throw .notFound("The postbox \(name)")
        case .limitExceeded: throw .server(code: 429, "there are as many postboxes as one may have")
        case .invalidRequest: throw .server(code: 400, "the postbox service did not understand")
        case .unavailable: throw .timeout("The postbox service")
        }
        return (reply.postboxes ?? []).map { entry in
            Postbox(
                id: entry.id, name: entry.name, title: entry.title.flatMap { PostboxRequest.title($0) },
                sudoId: entry.sudoId, isEnabled: entry.isEnabled, createdAt: Timestamp(milliseconds: entry.createdAt))
        }
    }
}
