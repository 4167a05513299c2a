import NATS
import NIOConcurrencyHelpers

/// One dial of a relay client and the connection that it leads to, until their end.
package typealias LiveLink = ConnectionLink<RelayClient>

/// What a relay client keeps for each connection.
package final class LinkAttachment: Sendable {
    fileprivate let deletedLetters: DeletedLetters
    /// The network's JetStream settings, the same for any connection.
    fileprivate let dialect = NIOLockedValueBox((prefix: JetStream.standardPrefix, readsBatches: false))
    fileprivate let pullLimit: PullLimit
    fileprivate let leftConsumers: LeftConsumers

    init(_ deletedLetters: DeletedLetters, _ pullLimit: PullLimit, _ leftConsumers: LeftConsumers) {
        (self.deletedLetters, self.pullLimit, self.leftConsumers) = (deletedLetters, pullLimit, leftConsumers)
    }
}

extension LiveLink {
    /// The user's letters that were deleted over this connection.
    var deletedLetters: DeletedLetters { attachment.deletedLetters }

    /// JetStream over this connection with the network's settings; nil before the login.
    var jetStream: JetStream? {
        guard let connection else { return nil }
        let (prefix, readsBatches) = attachment.dialect.withLockedValue(\.self)
        var jetStream = JetStream(connection, apiPrefix: prefix, timeout: surroundings.answerLimit)
        jetStream.heartbeat = surroundings.heartbeat
        jetStream.readsBatches = readsBatches
        jetStream.pullLimit = attachment.pullLimit
        jetStream.leftConsumers = attachment.leftConsumers
        return jetStream
    }

    /// Uses the network's JetStream settings from now on.
    func speak(as namespace: RelayConfiguration.Namespace) {
        attachment.dialect.withLockedValue { $0 = (namespace.apiPrefix, namespace.readsBatches) }
    }

    /// Listens to the administrator, once the server permits it.
    func followControl(for user: String) {
        guard let connection,
            let subscription = try? connection.subscribe(
                to: ControlMessage.subject(for: user), limits: BufferLimits(messages: 64, bytes: 1 << 20),
                isStanding: true)
        else { return }
        start(isLastToHear: true) { link in
            do throws(NATSError) {
                var messages = subscription.makeAsyncIterator()
                while let message = try await messages.next(isolation: nil) {
                    let bytes = message.bytes
                    await link.inOwner { $0.login.heardControl(bytes, for: user, of: $0) }
                }
            } catch {
                // The end of the connection is reported elsewhere.
            }
        }
    }
}
