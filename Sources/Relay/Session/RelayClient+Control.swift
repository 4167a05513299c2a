import NATS

// What the network's administrator says to this user.
extension RelayClient {
    private static let rememberedProofs = 64

    /// Listens to the administrator on this connection. Where the server does not permit it, nothing is heard.
    func followControl(_ connection: NATSConnection, generation: UInt64) {
        guard let user, Self.isToken(user),
            let subscription = try? connection.subscribe(
                to: ControlMessage.subject(for: user), limits: BufferLimits(messages: 64, bytes: 1 << 20))
        else { return }
        let watcher = Task { [weak self] in
            do throws(NATSError) {
                var messages = subscription.makeAsyncIterator()
                while let message = try await messages.next(isolation: nil) {
                    await self?.heardControl(message, for: user, generation: generation)
                }
            } catch {
                // The end of the connection has its own news, and a refused subject is heard by nobody.
            }
        }
        link?.control = watcher
        link?.watchers.append(watcher)
    }

    private func heardControl(_ message: NATSMessage, for user: String, generation: UInt64) {
        guard let control = believed(message.bytes, for: user) else { return }
        handle(.serverControl(generation: generation, reason: control.connectionReason))
    }

    /// The message, when it is the administrator's and has not been heard before.
    private func believed(_ bytes: [UInt8], for user: String) -> ControlMessage? {
        let issuers = configuration.credentials.issuers
        // Without tokens there is no account's key to trust; the server's permissions have to do.
        guard !issuers.isEmpty else { return try? ControlMessage.unproved(bytes) }
        guard
            let (control, proof) = try? ControlMessage.verified(
                bytes, for: user, trusting: issuers, at: Self.secondsNow), !provedControls.contains(proof)
        else { return nil }
        provedControls.append(proof)
        if provedControls.count > Self.rememberedProofs { provedControls.removeFirst() }
        return control
    }
}
