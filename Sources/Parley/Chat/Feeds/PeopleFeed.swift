import Relay

/// Who is where. A network that does not keep it is silent about it.
actor PeopleFeed {
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

    private let core: FeedCore
    private var watching: Task<Void, Never>?

    init(_ core: FeedCore) { self.core = core }

    func perform(_ request: Request) async {
        do throws(RelayError) {
            switch request {
            case .watch(let topic):
                watching?.cancel()
                watching = topic.map { watch($0) }
            case .appear(let topics): try await core.client.appear(in: topics)
            case .typing(let topic): try await core.client.setTyping(in: topic)
            case .setPresence(let presence): try await core.client.setPresence(presence)
            }
        } catch {
            if case .setPresence = request { return await core.send(.notice(error.words, isFailure: true)) }
            await core.send(.log(error.words))
        }
    }

    private func watch(_ topic: String) -> Task<Void, Never> {
        core.begin { [core] in
            do throws(RelayError) {
                for await roster in try await core.client.presence(topic: topic) where !Task.isCancelled {
                    await core.send(.people(topic: topic, roster))
                }
            } catch {
                await core.send(.log(error.words))
            }
        }
    }
}
