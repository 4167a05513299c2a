import NATS
import NIOCore

/// The services of a network, answered by any number of hosts together (a queue group).
struct NetworkServices: Sendable {
    private static let queue = "relay-hosts"
    /// How many requests are worked on at once.
    private static let concurrency = 16

    private let connection: NATSConnection
    private let namespace: NamespaceService
    private let postboxes: PostboxService
    private let namespaceRequests: NATSSubscription
    private let postboxRequests: NATSSubscription

    /// Subscribes; the requests wait until ``run()``.
    init(connection: NATSConnection, identity: NetworkIdentity) throws(NATSError) {
        self.connection = connection
        namespace = NamespaceService(identity: identity)
        postboxes = try PostboxService(jetStream: JetStream(connection))
        namespaceRequests = try connection.subscribe(to: NamespaceService.subject, queue: Self.queue)
        postboxRequests = try connection.subscribe(to: "relay.postbox.*.*", queue: Self.queue)
    }

    /// Answers requests until the connection ends or the task is cancelled.
    /// - Throws: the reason for the connection's end.
    func run() async throws(NATSError) {
        let outcomes = await withTaskGroup(of: NATSError?.self) { group in
            group.addTask {
                await answer(namespaceRequests) { message in namespace.reply(to: message.bytes) }
            }
            group.addTask {
                await answer(postboxRequests) { message in await postboxes.reply(to: message) }
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            await group.waitForAll()
            return first
        }
        if let outcomes { throw outcomes }
    }

    private func answer(
        _ requests: NATSSubscription, _ reply: @escaping @Sendable (NATSMessage) async -> [UInt8]?
    ) async -> NATSError? {
        await withTaskGroup(of: Void.self) { group in
            var running = 0
            var iterator = requests.makeAsyncIterator()
            while true {
                do throws(NATSError) {
                    guard let message = try await iterator.next() else { return nil }
                    guard let inbox = message.reply else { continue }
                    if running >= Self.concurrency {
                        await group.next()
                        running -= 1
                    }
                    running += 1
                    group.addTask {
                        guard let bytes = await reply(message) else { return }
                        // A reply that cannot leave is the requester's time-out; the connection's end is seen above.
                        _ = try? connection.publish(bytes, to: inbox)
                    }
                } catch {
                    group.cancelAll()
                    return error
                }
            }
        }
    }
}
