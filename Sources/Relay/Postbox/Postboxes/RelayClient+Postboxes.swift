// The user's own postboxes and their personas.
extension RelayClient {
    /// The user's postboxes. A user's first call has the network create one named `personal`.
    ///
    /// - Parameter sudoId: Limits them to this persona (Sudo); nil for all.
    public func postboxes(sudoId: String? = nil) async throws(RelayError) -> [Postbox] {
        let postboxes = try await postboxService().postboxes(of: sudoId)
        if sudoId == nil { await told(postboxes) }
        return postboxes
    }

    /// The user's postboxes as stored on this machine, connected or not: the last result of ``postboxes(sudoId:)``
    /// without a persona. Waits only for the local store to open.
    ///
    /// - Returns: The postboxes and their date; nil if the network has reported none yet, the configuration's store is
    ///   no file, or it could not be opened.
    /// - Throws: ``RelayError/storage(_:)``.
    public func keptPostboxes() async throws(RelayError) -> KeptPostboxes? {
        guard let store = await keptStore() else { return nil }
        return try await store.postboxes()
    }

    /// Handles a list of postboxes.
    ///
    /// - Parameter asked: Those that were asked about.
    func told(_ postboxes: [Postbox], about asked: Set<String> = []) async {
        if let user { personas.take(postboxes, asked: asked, owner: user) }
        await keep(.postboxesListed(KeptPostboxes(items: postboxes, asOf: .now)))
    }

    /// The postbox service, over a connection that returns if it was idle.
    private func postboxService() async throws(RelayError) -> PostboxServiceClient {
        await wake()
        let owner = try postboxOwner()
        guard let connection = link?.connection else { throw .notConnected }
        return PostboxServiceClient(owner: owner, connection: connection)
    }

    /// The user's postboxes, page by page, oldest first.
    ///
    /// - Parameters:
    ///   - limit: The most postboxes, 1 to 100; nil for 100.
    ///   - nextToken: Where an earlier page ended; nil for the beginning. Creating or deleting postboxes between two
    ///     pages skips or repeats no others.
    ///   - sudoId: Limits them to this persona (Sudo); nil for all.
    /// - Returns: The postboxes, and the next page's token if there are more.
    /// - Throws: ``RelayError/invalidArgument(_:)`` for the limit, ``RelayError/invalidToken``,
    ///   ``RelayError/notConnected``, or the network's refusal.
    public func listPostboxes(
        limit: Int? = nil, nextToken: String? = nil, sudoId: String? = nil
    ) async throws(RelayError) -> ListOutput<Postbox> {
        let wanted = try PostboxPage(limit: limit, nextToken: nextToken)
        return wanted.output(of: try await postboxes(sudoId: sudoId))
    }

    /// Creates a postbox and enables it.
    ///
    /// - Parameters:
    ///   - name: 1 to 64 letters, digits, `_` and `-`, unique among the user's postboxes.
    ///   - sudoId: Its persona (Sudo), 1 to 128 bytes; nil for the user's first one.
    /// - Throws: ``RelayError/invalidArgument(_:)`` for either, ``RelayError/notConnected``, or the network's refusal.
    public func createPostbox(_ name: String, sudoId: String? = nil) async throws(RelayError) -> Postbox {
        if let sudoId, !(1...128).contains(sudoId.utf8.count) {
            throw .invalidArgument("A persona's id has 1 to 128 bytes")
        }
        let made = try await postboxService().change("create", name, of: sudoId)
        if let user { personas.take([made], asked: [], owner: user) }
        return made
    }

    /// Enables or disables a postbox: a disabled one refuses letters and keeps those it has.
    ///
    /// - Parameters:
    ///   - name: The postbox.
    ///   - isEnabled: Whether it accepts letters.
    ///   - sudoId: The persona (Sudo) that it must belong to; nil for any of the user's.
    /// - Throws: ``RelayError/notFound(_:)`` if that persona has no such postbox.
    public func updatePostbox(
        _ name: String, isEnabled: Bool, sudoId: String? = nil
    ) async throws(RelayError) -> Postbox {
        try await postboxService().change(isEnabled ? "enable" : "disable", name, of: sudoId)
    }

    /// Sets the title that a postbox's owner sees. Its name and address stay the same.
    ///
    /// - Parameters:
    ///   - name: The postbox.
    ///   - title: A line of 1 to 128 bytes, without invisible characters, that is not the name or title of another
    ///     postbox of the user; the postbox's own name removes the title.
    ///   - sudoId: The persona (Sudo) that it must belong to; nil for any of the user's.
    /// - Throws: ``RelayError/invalidArgument(_:)`` for the title, ``RelayError/notFound(_:)`` if that persona has no
    ///   such postbox, ``RelayError/server(code:_:)`` with 501 on a network of an earlier version.
    public func updatePostbox(
        _ name: String, title: String, sudoId: String? = nil
    ) async throws(RelayError) -> Postbox {
        let service = try await postboxService()
        guard let title = PostboxRequest.title(title) else { throw PostboxServiceClient.invalidTitle }
        do throws(RelayError) {
            return try await service.change("rename", name, of: sudoId, title: title)
        } catch {
            // Hosts of earlier versions do not know this request.
            guard case .server(code: 400, _) = error else { throw error }
            throw .server(code: 501, "this network does not support postbox titles")
        }
    }

    /// Deletes a postbox with its letters.
    ///
    /// - Parameters:
    ///   - name: The postbox.
    ///   - sudoId: The persona (Sudo) that it must belong to; nil for any of the user's.
    /// - Throws: ``RelayError/notFound(_:)`` if that persona has no such postbox.
    public func deletePostbox(_ name: String, sudoId: String? = nil) async throws(RelayError) -> Postbox {
        try await postboxService().change("delete", name, of: sudoId)
    }
}
