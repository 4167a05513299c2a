import Relay

// Who is where. A network that does not keep it is silent about it.
extension ChatEngine {
    /// Tells of who is in a topic, until the task is cancelled.
    func people(of topic: String) -> Task<Void, Never> {
        Task { [client, queue] in
            do throws(RelayError) {
                for await roster in try await client.presence(topic: topic) where !Task.isCancelled {
                    await queue.send(.people(topic: topic, roster))
                }
            } catch {
                await queue.send(.log(error.words))
            }
        }
    }

    func appear(in topics: [String]) async {
        do throws(RelayError) { try await client.appear(in: topics) } catch { await queue.send(.log(error.words)) }
    }

    func setTyping(in topic: String?) async {
        do throws(RelayError) { try await client.setTyping(in: topic) } catch { await queue.send(.log(error.words)) }
    }

    func setPresence(_ presence: Presence) async {
        do throws(RelayError) { try await client.setPresence(presence) } catch {
            await queue.send(.notice(error.words, isFailure: true))
        }
    }
}
