import NATS

// New credentials in place of old ones.
extension RelayClient {
    /// How long a token provider may take.
    static let providerTimeout = Duration.seconds(30)

    /// Asks the provider once; the machine counts.
    func renewCredentials(_ generation: UInt64) {
        guard let provider = configuration.credentials.provider else {
            return handle(.credentialsUnavailable(generation: generation))
        }
        dial?.cancel()
        dial = Task { [weak self] in
            let credentials = await Self.asking(provider)
            guard !Task.isCancelled else { return }
            await self?.renewed(credentials, generation: generation)
        }
    }

    private func renewed(_ credentials: RelayCredentials?, generation: UInt64) {
        guard let credentials else { return handle(.credentialsUnavailable(generation: generation)) }
        // They count even when nobody waits for them any more: the next connect uses them.
        adopt(credentials)
        handle(.credentialsRenewed(generation: generation))
    }

    /// What the provider gives; nil when it throws or takes too long.
    static func asking(_ provider: @escaping RelayCredentials.Provider) async -> RelayCredentials? {
        let answer = Completion<RelayCredentials?>()
        let question = Task { answer.fulfil(try? await provider()) }
        let alarm = Task {
            try? await Task.sleep(for: providerTimeout)
            answer.fulfil(nil)
        }
        defer {
            question.cancel()
            alarm.cancel()
        }
        return await withTaskCancellationHandler {
            await answer.value()
        } onCancel: {
            answer.fulfil(nil)
        }
    }

    /// Uses other credentials from the next dial on.
    func adopt(_ credentials: RelayCredentials) {
        settings.withLockedValue { settings in
            let old = settings.configuration.credentials
            // A name that came from the old credentials goes with them.
            if settings.configuration.user == nil || settings.configuration.user == old.user {
                settings.configuration.user = credentials.user ?? settings.configuration.user
            }
            settings.configuration.credentials = credentials.keepingProvider(old.provider)
        }
    }
}
