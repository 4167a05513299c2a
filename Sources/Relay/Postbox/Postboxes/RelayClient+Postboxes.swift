// The user's own postboxes, and the personas to which they belong.
extension RelayClient {
    /// The user's postboxes. A user's first call has the network set up one named `personal`.
    ///
    /// - Parameter sudoId: only those of this persona (Sudo); nil for all.
    public func postboxes(sudoId: String? = nil) async throws(RelayError) -> [Postbox] {
        let postboxes = try await postboxService().postboxes(of: sudoId)
        if sudoId == nil { await told(postboxes) }
        return postboxes
    }

    /// The user's postboxes as this machine keeps them, connected or not: those that ``postboxes(sudoId:)`` without a
    /// persona brought last. Waits for the opening of the local store and for nothing else.
    ///
    /// - Returns: the postboxes, and as of when they are; nil where the network has told none yet, the configuration's
    ///   store is no file, or it could not be opened.
    /// - Throws: ``RelayError/storage(_:)``.
    public func keptPostboxes() async throws(RelayError) -> KeptPostboxes? {
        guard let store = await keptStore() else { return nil }
        return try await store.postboxes()
    }

    /// Takes in which postboxes there are.
    ///
    /// - Parameter asked: those that were asked about.
    func told(_ postboxes: [Postbox], about asked: Set<String> = []) async {
        if let user { personas.take(postboxes, asked: asked, owner: user) }
        await keep(.postboxesListed(KeptPostboxes(items: postboxes, asOf: .now)))
    }

    /// Who asks about postboxes needs the connection.
    private func postboxService() async throws(RelayError) -> PostboxServiceClient {
        await wake()
        let owner = try postboxOwner()
        guard let connection = link?.connection else { throw .notConnected }
        return PostboxServiceClient(owner: owner, connection: connection)
    }

    /// The user's postboxes, page by page, the oldest first.
    ///
    /// - Parameters:
    ///   - limit: most postboxes, 1 to 100; nil for 100.
    ///   - nextToken: where an earlier page ended; nil for the beginning. Postboxes that are made or deleted between
    ///     two pages have none of the others skipped or repeated.
    ///   - sudoId: only those of this persona (Sudo); nil for all.
    /// - Returns: the postboxes, and the next page's token when there are more.
    /// - Throws: ``RelayError/invalidArgument(_:)`` for the limit, ``RelayError/invalidToken``,
    ///   ``RelayError/notConnected``, or the network's refusal.
    public func listPostboxes(
        limit: Int? = nil, nextToken: String? = nil, sudoId: String? = nil
    ) async throws(RelayError) -> ListOutput<Postbox> {
        let wanted = try PostboxPage(limit: limit, nextToken: nextToken)
        return wanted.output(of: try await postboxes(sudoId: sudoId))
    }

    /// Makes a postbox and enables it.
    ///
    /// - Parameters:
    ///   - name: 1 to 64 letters, digits, `_` and `-`; no other postbox of the user has it.
    ///   - sudoId: the persona (Sudo) that it belongs to, 1 to 128 bytes; nil for the user's first one.
    /// - Throws: ``RelayError/invalidArgument(_:)`` for either, ``RelayError/notConnected``, or the network's refusal.
    public func createPostbox(_ name: String, sudoId: String? = nil) async throws(RelayError) -> Postbox {
        if let sudoId, !(1...128).contains(sudoId.utf8.count) {
            throw .invalidArgument("A persona's id has 1 to 128 bytes")
        }
        let made = try await postboxService().change("create", name, of: sudoId)
        if let user { personas.take([made], asked: [], owner: user) }
        return made
    }

    /// Enables a postbox, or disables it: a disabled one takes no letters and keeps those it has.
    ///
    /// - Parameters:
    ///   - name: the postbox.
    ///   - isEnabled: whether it takes letters.
    ///   - sudoId: the persona (Sudo) that it has to belong to; nil for any of the user's.
    /// - Throws: ``RelayError/notFound(_:)`` where that persona has no such postbox.
    public func updatePostbox(
        _ name: String, isEnabled: Bool, sudoId: String? = nil
    ) async throws(RelayError) -> Postbox {
        try await postboxService().change(isEnabled ? "enable" : "disable", name, of: sudoId)
    }

    /// Gives a postbox a title: what its owner calls it. Its name stays, and with it the address that others write to.
    ///
    /// - Parameters:
    ///   - name: the postbox.
    ///   - title: a line of 1 to 128 bytes, without invisible characters, that no other postbox of the user has as its
    ///     name or title; the postbox's own name removes the title.
    ///   - sudoId: the persona (Sudo) that it has to belong to; nil for any of the user's.
    /// - Throws: ``RelayError/invalidArgument(_:)`` for the title, ``RelayError/notFound(_:)`` where that persona has
    ///   no such postbox, ``RelayError/server(code:_:)`` with 501 where the network is of an earlier version.
    public func updatePostbox(
        _ name: String, title: String, sudoId: String? = nil
    ) async throws(RelayError) -> Postbox {
        let service = try await postboxService()
        guard let title = PostboxRequest.title(title) else { throw PostboxServiceClient.invalidTitle }
        do throws(RelayError) {
            return try await service.change("rename", name, of: sudoId, title: title)
        } catch {
            // A host of an earlier version knows no such request.
            guard case .server(code: 400, _) = error else { throw error }
            throw .server(code: 501, "this network does not support postbox titles")
        }
    }

    /// Deletes a postbox with its letters.
    ///
    /// - Parameters:
    ///   - name: the postbox.
    ///   - sudoId: the persona (Sudo) that it has to belong to; nil for any of the user's.
    /// - Throws: ``RelayError/notFound(_:)`` where that persona has no such postbox.
    public func deletePostbox(_ name: String, sudoId: String? = nil) async throws(RelayError) -> Postbox {
        try await postboxService().change("delete", name, of: sudoId)
    }
}
