import Relay

// The person's own postboxes, which the network keeps, and the letters that were sent, which this machine keeps.
extension LettersFeed {
    /// Tells which postboxes there are as soon as the network says so. Its host may be slow or away: nothing else waits
    /// for that, and it is asked again for as long as there is a connection.
    func listPostboxes() {
        boxesTask?.cancel()
        boxesTask = core.begin { [core] in
            var pause = Duration.seconds(5)
            while !Task.isCancelled, core.client.status.state == .connected {
                do throws(RelayError) {
                    return await core.send(.postbox(.boxes(try await core.client.postboxes())))
                } catch {
                    // That it goes on so is no news.
                    if pause == .seconds(5) { await core.send(.postbox(.subscription(.error(error)))) }
                }
                try? await Task.sleep(for: pause)
                pause = min(pause * 2, .seconds(60))
            }
        }
    }

    /// Tells what this machine keeps of the postboxes, until the network says how they are.
    func tellKeptPostboxes() {
        core.begin { [core] in
            let kept = try? await core.client.keptPostboxes()
            let counts = try? await core.client.keptLetters()?.counts
            // First what was read: what counts as unread is the rest.
            await self.tellReadLetters()
            await core.send(.postbox(.keptBoxes(kept, counts: counts ?? [:])))
        }
    }

    /// Does something with the postboxes, one thing after the other, and tells how they are then.
    func perform(_ act: PostboxAct) {
        inOrder.add { [core] in
            do throws(RelayError) {
                guard let changed = try await Self.carryOut(act, core.client) else {
                    return await core.send(.postboxes(.listed(try await core.client.postboxes())))
                }
                // What is done is done, whether the others can be listed or not.
                await core.send(.postboxes(.changed(act, changed, all: try? await core.client.postboxes())))
            } catch {
                await core.send(.postboxes(.failed(act, error)))
            }
        }
    }

    /// - Returns: the postbox that was changed; nil where none was.
    private static func carryOut(_ act: PostboxAct, _ client: RelayClient) async throws(RelayError) -> Postbox? {
        switch act {
        case .list: nil
        case .create(let name, let persona): try await client.createPostbox(name, sudoId: persona)
        case .rename(let name, let title): try await client.updatePostbox(name, title: title)
        case .enable(let name): try await client.updatePostbox(name, isEnabled: true)
        case .disable(let name): try await client.updatePostbox(name, isEnabled: false)
        case .delete(let name): try await client.deletePostbox(name)
        }
    }

    // MARK: Going through letters

    /// Reads a portion of a postbox, with what of it was read.
    func readLetters(
        _ request: UInt64, _ postbox: String?, _ token: String?, from known: LetterPortion.Source?, _ order: LetterOrder
    ) async {
        do throws(RelayError) {
            let source: LetterPortion.Source
            if let known { source = known } else { source = try await self.source(of: postbox) }
            let page: ListOutput<PostboxMessage>
            if source == .network {
                page = try await core.client.listMessages(
                    limit: LetterPortion.limit, nextToken: token, postbox: postbox, order: order
                ).withUnreadable(order)
            } else {
                let kept = try await core.client.keptLetters(
                    limit: LetterPortion.limit, nextToken: token, postbox: postbox, order: order)
                guard let kept else { throw .notConnected }
                page = kept.page
            }
            var portion = LetterPortion(letters: page.items, nextToken: page.nextToken)
            portion.source = source
            if let store = await core.client.keptStore() {
                portion.readIDs = try await store.readLetters(among: page.items.map(\.id)).ids
            }
            await core.send(.postbox(.portion(request: request, portion)))
        } catch {
            await core.send(.postbox(.portionFailed(request: request, error)))
        }
    }

    /// Where the letters of a postbox are read.
    private func source(of postbox: String?) async throws(RelayError) -> LetterPortion.Source {
        let client = core.client
        var counts: [String: Int]?
        if client.status.state == .connected {
            guard let counted = try? await client.countMessages() else { return .network }
            counts = counted
        }
        let kept = try await client.keptStore()?.readLetters(among: []).kept
        let source = LetterPortion.Source.of(postbox, counts: counts, kept: kept)
        guard source == .store else { return source }
        // What is listed is kept from then on: the store is asked first.
        let newestKept = try await client.keptLetters(limit: 1, postbox: postbox, order: .newestFirst)?.page.items.first
        let newest = try? await client.listMessages(limit: 1, postbox: postbox, order: .newestFirst).items.first
        return source.confirmed(network: newest?.id, kept: newestKept?.id)
    }

    // MARK: Sent letters

    /// Tells which letters were sent from here. It needs no connection.
    func listSent(_ limit: Int) {
        core.begin { [core] in
            do throws(RelayError) {
                let store = try await core.store()
                // What the network has just confirmed may still be on its way into the store.
                try await store.flush()
                await core.send(.postboxes(.sent(try await store.letters(.sent, limit: limit))))
            } catch {
                await core.send(.postboxes(.sentFailed(error.words)))
            }
        }
    }
}
