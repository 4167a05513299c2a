import NATS

// New credentials in place of old ones.
extension RelayClient {
    /// What a provider was asked, until it returns. Askers that come meanwhile join it.
    struct ProviderQuestion: Sendable {
        /// Whether there are other credentials now than when it was asked.
        let answer: Task<Bool, Never>
        /// Which credentials it is to replace.
        let epoch: UInt64

        /// As the answer; false when the provider takes longer than this, which calls it off.
        func wait(_ limit: Duration) async -> Bool {
            if let answer = await within(limit, { [answer] in await answer.value }) { return answer }
            if !Task.isCancelled { answer.cancel() }
            return false
        }
    }

    /// Asks the provider once; the machine counts.
    func renewCredentials(_ generation: UInt64) {
        guard let question = askProvider() else { return handle(.credentialsUnavailable(generation: generation)) }
        dial?.cancel()
        dial = Task { [weak self, providerTimeout] in
            let isRenewed = await question.wait(providerTimeout)
            guard !Task.isCancelled else { return }
            await self?.handle(
                isRenewed
                    ? .credentialsRenewed(generation: generation) : .credentialsUnavailable(generation: generation))
        }
    }

    /// The question to the provider, who never has two at the same time; nil without a provider.
    func askProvider() -> ProviderQuestion? {
        if let question { return question }
        guard let provider = configuration.credentials.provider else { return nil }
        let epoch = credentialsEpoch
        let answer = Task { [weak self] in
            let credentials = try? await provider()
            return await self?.answered(credentials, epoch: epoch) ?? false
        }
        let asked = ProviderQuestion(answer: answer, epoch: epoch)
        question = asked
        return asked
    }

    /// Takes in what a provider gave, even when nobody waits for it any more: the next connect uses it.
    ///
    /// - Returns: whether there are other credentials now than when it was asked.
    private func answered(_ credentials: RelayCredentials?, epoch: UInt64) -> Bool {
        if question?.epoch == epoch { question = nil }
        // What the application gave meanwhile is newer.
        guard epoch == credentialsEpoch else { return true }
        guard let credentials else { return false }
        let configuration = configuration
        let isFirst = configuration.credentials.isMissing && configuration.user == nil
        let provided = credentials.keepingProvider(configuration.credentials.provider)
        guard replaceCredentials(provided, mayChangeUser: isFirst) else { return false }
        hasUnrefusedToken = true
        return true
    }

    /// Uses other credentials, and with them the name that they tell, from the next dial on.
    ///
    /// - Parameter mayChangeUser: whether they may be another user's.
    /// - Returns: false when they may not and are; nothing has changed then.
    func replaceCredentials(_ credentials: RelayCredentials, mayChangeUser: Bool) -> Bool {
        let (old, oldUser) = (configuration.credentials, configuration.user)
        // A name that came from the old credentials goes with them.
        let user = credentials.user ?? (oldUser == old.user ? nil : oldUser)
        guard mayChangeUser || user == oldUser else { return false }
        if user != oldUser {
            namespace = configuration.namespace
            // What one user wrote is never sent as another.
            if oldUser != nil { publisher.discardAll() }
        }
        settings.withLockedValue { settings in
            settings.configuration.user = user
            settings.configuration.credentials = credentials
        }
        if let user, user != oldUser { signLines(as: user) }
        return true
    }
}
