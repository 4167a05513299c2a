import Relay

actor KeyValueFeed {
    enum Request: Equatable, Sendable {
        /// Carry out a request about keys, answered by a `keys` event.
        case answer(KeyValueRequest)
        /// Hand a change to the core, under the id that all attempts to send it share.
        case change(id: String, KeyValueRequest.Change)
    }

    private let core: FeedCore
    /// One at a time, so that a read sees the value just set.
    private let inOrder: SerialTasks
    private var watching: Task<Void, Never>?

    init(_ core: FeedCore) { (self.core, inOrder) = (core, SerialTasks(core.tasks, core.queue)) }

    func perform(_ request: Request) async {
        switch request {
        case .answer(.watch(let pattern)):
            watching?.cancel()
            watching = watch(pattern ?? ">")
        case .answer(.unwatch):
            let words = watching == nil ? "No keys are watched." : "Keys are watched no more."
            watching?.cancel()
            watching = nil
            await core.send(.notice(words, isFailure: false))
        case .answer(let request):
            inOrder.add { [core] in
                do throws(RelayError) {
                    await core.send(.keys(try await request.answer(from: core.client), isFailure: false))
                } catch {
                    await core.send(.keys(KeyValueRequest.words(error), isFailure: true))
                }
            }
        case .change(let id, let change):
            do throws(RelayError) {
                let pending = try await change.enqueue(at: core.client, id: id)
                guard core.client.status.state == .connected else { return }
                inOrder.add { _ = try? await pending.receipt(within: .seconds(10)) }
            } catch {
                await core.send(.published(PublishNews(id: id, state: .failed(error))))
            }
        }
    }

    private func watch(_ pattern: String) -> Task<Void, Never> {
        core.begin { [core] in
            if core.client.status.state != .connected {
                let words = "\(pattern) will be watched once connected. /kv unwatch ends it."
                await core.send(.notice(words, isFailure: false))
            }
            do throws(RelayError) {
                var iterator = try await core.client.watch(key: pattern).makeAsyncIterator()
                // Present values would flood the screen; /kv keys lists them.
                var isLive = false
                var count = 0
                while let event = try await iterator.next() {
                    switch event {
                    case .change(let change) where isLive:
                        await core.send(.keys(KeyValueRequest.words(change), isFailure: false))
                    case .change(let change): if change.stored != nil { count += 1 }
                    case .live:
                        guard !isLive else { continue }
                        isLive = true
                        let words = "Watching \(pattern), \(Wording.count(count, "key")) now. /kv unwatch ends it."
                        await core.send(.notice(words, isFailure: false))
                    case .restarted: await core.send(.log("The network's key-value store was recreated."))
                    case .interrupted(let error, _): await core.send(.keys(error.words, isFailure: true))
                    }
                }
            } catch {
                await core.send(.keys(error.words, isFailure: true))
            }
        }
    }
}
