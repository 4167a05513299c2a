import Relay

/// The keys of the network's store.
actor KeyValueFeed {
    /// What it is asked for.
    enum Request: Equatable, Sendable {
        /// Carry out a request about keys; `keys` tells what it came to.
        case answer(KeyValueRequest)
        /// Hand a change of a key to the core, under the id that every attempt to send it has.
        case change(id: String, KeyValueRequest.Change)
    }

    private let client: RelayClient
    private let queue: EventQueue
    private let tasks: ChatTasks
    /// One after the other, so that a person reads what was just set.
    private let inOrder: SerialTasks
    private var watching: Task<Void, Never>?

    init(_ client: RelayClient, _ queue: EventQueue, _ tasks: ChatTasks) {
        (self.client, self.queue, self.tasks) = (client, queue, tasks)
        inOrder = SerialTasks(tasks, queue)
    }

    func perform(_ request: Request) async {
        switch request {
        case .answer(.watch(let pattern)):
            watching?.cancel()
            watching = watch(pattern ?? ">")
        case .answer(.unwatch):
            let words = watching == nil ? "No keys are watched." : "Keys are watched no more."
            watching?.cancel()
            watching = nil
            await queue.send(.notice(words, isFailure: false))
        case .answer(let request): answer(request)
        case .change(let id, let change): await perform(change, id)
        }
    }

    private func answer(_ request: KeyValueRequest) {
        inOrder.add { [client, queue] in
            do throws(RelayError) {
                await queue.send(.keys(try await request.answer(from: client), isFailure: false))
            } catch {
                await queue.send(.keys(KeyValueRequest.words(error), isFailure: true))
            }
        }
    }

    /// Hands a change to the core at once, which keeps it from then on and tells what becomes of it.
    private func perform(_ change: KeyValueRequest.Change, _ id: String) async {
        do throws(RelayError) {
            let pending = try await change.enqueue(at: client, id: id)
            guard client.status.state == .connected else { return }
            inOrder.add { _ = try? await pending.receipt(within: .seconds(10)) }
        } catch {
            await queue.send(.published(PublishNews(id: id, state: .failed(error))))
        }
    }

    /// Tells of each change of some keys.
    private func watch(_ pattern: String) -> Task<Void, Never> {
        tasks.begin { [client, queue] in
            if client.status.state != .connected {
                let words = "\(pattern) is watched as soon as there is a connection. /kv unwatch ends it."
                await queue.send(.notice(words, isFailure: false))
            }
            do throws(RelayError) {
                var iterator = try await client.watch(key: pattern).makeAsyncIterator()
                // What is there already would drown the screen; /kv keys lists it.
                var isLive = false
                var count = 0
                while let event = try await iterator.next() {
                    switch event {
                    case .change(let change):
                        guard isLive else {
                            if change.stored != nil { count += 1 }
                            continue
                        }
                        await queue.send(.keys(KeyValueRequest.words(change), isFailure: false))
                    case .live:
                        guard !isLive else { continue }
                        isLive = true
                        let words = "Watching \(pattern), \(Wording.count(count, "key")) now. /kv unwatch ends it."
                        await queue.send(.notice(words, isFailure: false))
                    case .restarted: await queue.send(.log("The network's key-value store was made anew."))
                    case .interrupted(let error, _): await queue.send(.keys(error.words, isFailure: true))
                    }
                }
            } catch {
                await queue.send(.keys(error.words, isFailure: true))
            }
        }
    }
}
