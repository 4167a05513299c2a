import Relay

// The user's own postboxes, which the network keeps, and sent letters, which this machine keeps.
extension LettersFeed {
    /// Fetches the postboxes, and retries while connected: the network's host may be slow or away. Nothing else waits
    /// for it.
    func listPostboxes() {
        boxesTask?.cancel()
        boxesTask = core.begin { [core] in
            var pause = Duration.seconds(5)
            while !Task.isCancelled, core.client.status.state == .connected {
                do throws(RelayError) {
                    return await core.send(.postbox(.boxes(try await core.client.postboxes())))
                } catch {
                    // Only the first failure is news.
                    if pause == .seconds(5) { await core.send(.postbox(.subscription(.error(error)))) }
                }
                try? await Task.sleep(for: pause)
                pause = min(pause * 2, .seconds(60))
            }
        }
    }

    /// Reports the postboxes as this machine knows them, until the network answers.
    func tellKeptPostboxes() {
        core.begin { [core] in
            let kept = try? await core.client.keptPostboxes()
            let counts = try? await core.client.keptLetters()?.counts
            // Read letters first, since the unread counts depend on them.
            await self.tellReadLetters()
            await core.send(.postbox(.keptBoxes(kept, counts: counts ?? [:])))
        }
    }

    /// Carries out an act on the postboxes, after any earlier ones, and reports the postboxes that result.
    func perform(_ act: PostboxAct) {
        inOrder.add { [core] in
            do throws(RelayError) {
                guard let changed = try await Self.carryOut(act, core.client) else {
                    return await core.send(.postboxes(.listed(try await core.client.postboxes())))
                }
                // The change has been made even if the postboxes cannot be listed.
                await core.send(.postboxes(.changed(act, changed, all: try? await core.client.postboxes())))
            } catch {
                await core.send(.postboxes(.failed(act, error)))
            }
        }
    }

    /// - Returns: the changed postbox; nil if none was.
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

    // MARK: Browsing letters

    /// Fetches a portion of a postbox, and which of its letters were read.
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

    /// Where to fetch the letters of a postbox.
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
        // Listing stores the letters that it returns, so the store is asked first.
        let newestKept = try await client.keptLetters(limit: 1, postbox: postbox, order: .newestFirst)?.page.items.first
        let newest = try? await client.listMessages(limit: 1, postbox: postbox, order: .newestFirst).items.first
        return source.confirmed(network: newest?.id, kept: newestKept?.id)
    }

    // MARK: Sent letters

    /// Lists the letters sent from here; needs no connection.
    func listSent(_ limit: Int) {
        core.begin { [core] in
            do throws(RelayError) {
                let store = try await core.store()
                // A letter just confirmed may still be on its way into the store.
                try await store.flush()
                await core.send(.postboxes(.sent(try await store.letters(.sent, limit: limit))))
            } catch {
                await core.send(.postboxes(.sentFailed(error.words)))
            }
        }
    }
}
