import Relay

/// Who is where. A network that does not keep it is silent about it.
actor PeopleFeed {
    /// What it is asked for.
    enum Request: Equatable, Sendable {
        /// Tell who is in a topic, and in no other one; nil for none.
        case watch(topic: String?)
        /// Let others see this person in these topics, and in no others.
        case appear(in: [String])
        /// What others see there.
        case setPresence(Presence)
        /// Tell others where the person types a line; nil for nowhere any more.
        case typing(topic: String?)
    }

    private let client: RelayClient
    private let queue: EventQueue
    private let tasks: ChatTasks
    private var watching: Task<Void, Never>?

    init(_ client: RelayClient, _ queue: EventQueue, _ tasks: ChatTasks) {
        (self.client, self.queue, self.tasks) = (client, queue, tasks)
    }

    func perform(_ request: Request) async {
        do throws(RelayError) {
            switch request {
            case .watch(let topic):
                watching?.cancel()
                watching = topic.map { watch($0) }
            case .appear(let topics): try await client.appear(in: topics)
            case .typing(let topic): try await client.setTyping(in: topic)
            case .setPresence(let presence): await set(presence)
            }
        } catch {
            await queue.send(.log(error.words))
        }
    }

    private func set(_ presence: Presence) async {
        do throws(RelayError) { try await client.setPresence(presence) } catch {
            await queue.send(.notice(error.words, isFailure: true))
        }
    }

    private func watch(_ topic: String) -> Task<Void, Never> {
        tasks.begin { [client, queue] in
            do throws(RelayError) {
                for await roster in try await client.presence(topic: topic) where !Task.isCancelled {
                    await queue.send(.people(topic: topic, roster))
                }
            } catch {
                await queue.send(.log(error.words))
            }
        }
    }
}
