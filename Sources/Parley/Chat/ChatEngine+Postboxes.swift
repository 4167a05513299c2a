import Relay

// The person's own postboxes, which the network keeps, and the letters that were sent, which this machine keeps.
extension ChatEngine {
    /// Does something with the postboxes, one thing after the other, and tells how they are then.
    func perform(_ act: PostboxAct) {
        postboxesTask = Task { [client, queue, postboxesTask] in
            await postboxesTask?.value
            do throws(RelayError) {
                let changed = try await Self.carryOut(act, client)
                let boxes = try await client.postboxes()
                await queue.send(
                    .postboxes(changed.map { .changed(act, $0, all: boxes) } ?? .listed(boxes)))
            } catch {
                await queue.send(.postboxes(.failed(act, error)))
            }
        }
    }

    /// - Returns: the postbox that was changed; nil where none was.
    private static func carryOut(_ act: PostboxAct, _ client: RelayClient) async throws(RelayError) -> Postbox? {
        switch act {
        case .list: nil
        case .create(let name, let persona): try await client.createPostbox(name, sudoId: persona)
        case .enable(let name): try await client.updatePostbox(name, isEnabled: true)
        case .disable(let name): try await client.updatePostbox(name, isEnabled: false)
        case .delete(let name): try await client.deletePostbox(name)
        }
    }

    /// Tells which letters were sent from here. It needs no connection.
    func listSent(_ limit: Int) {
        Task { [client, queue] in
            guard let store = await client.keptStore() else {
                return await queue.send(.postboxes(.sentFailed(Self.nothingKept)))
            }
            do throws(RelayError) {
                // What the network has just confirmed may still be on its way into the store.
                try await store.flush()
                await queue.send(.postboxes(.sent(try await store.letters(.sent, limit: limit))))
            } catch {
                await queue.send(.postboxes(.sentFailed(error.words)))
            }
        }
    }
}
