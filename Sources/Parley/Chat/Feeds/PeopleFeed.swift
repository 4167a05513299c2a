import Relay

/// Presence. Networks without it report nothing.
actor PeopleFeed {
    enum Request: Equatable, Sendable {
        /// Report who is in this topic only; nil for none.
        case watch(topic: String?)
        /// Be visible to others in exactly these topics.
        case appear(in: [String])
        case setPresence(Presence)
        /// Show others in which topic the user is typing; nil for none.
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
