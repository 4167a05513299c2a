import NATS

extension NetworkAdministrator {
    /// Tells the services of a network on a cluster what was decided about its users since they were told last.
    func publishUsers(_ identity: NetworkIdentity) async throws(NetworkError) {
        try await withUserRegister(identity) { register throws(NetworkError) in
            try await register.publish(directory.block())
            for user in directory.unpublishedUsers() {
                if let record = try directory.record(of: user) { try await register.publish(record, of: user) }
                directory.markPublished(user)
            }
        }
    }

    /// Hands servers the accounts of a new user, or of new keys, where they do not find them in the network's folder.
    func introduce(_ user: UserName, _ identity: NetworkIdentity) async throws(NetworkError) {
        guard try directory.cluster() != nil else { return }
        try await enact(identity) { system, _ throws(NetworkError) in try await install([user], identity, system) }
    }

    /// Runs the body with the users as the services of a network on a cluster know them; again where nobody answered,
    /// so that what it does has to be such as can be done twice.
    func withUserRegister<R>(
        _ identity: NetworkIdentity, _ body: (BucketUserRegister) async throws(NetworkError) -> R
    ) async throws(NetworkError) -> R {
        let deadline = ContinuousClock.now + .seconds(30)
        while true {
            do throws(NetworkError) { return try await onceWithUserRegister(identity, body) } catch {
                // The bucket answers nobody until the servers have chosen its leader, which takes them seconds.
                guard error.isWithoutAnswer, ContinuousClock.now < deadline else { throw error }
            }
            try await Pause.sleep(.milliseconds(250))
        }
    }

    private func onceWithUserRegister<R>(
        _ identity: NetworkIdentity, _ body: (BucketUserRegister) async throws(NetworkError) -> R
    ) async throws(NetworkError) -> R {
        let connection = try await HostRole.keeping.connect(toOneOf: directory.places(), identity.issuer)
        defer { connection.closeNow() }
        let register: BucketUserRegister
        do throws(NATSError) { register = try BucketUserRegister(JetStream(connection, timeout: .seconds(5))) } catch {
            throw .connection(error)
        }
        return try await body(register)
    }
}

extension HostRole {
    /// Connects in this role to the first of several servers that takes it.
    /// - Throws: what the last of them said; that one cannot be reached only where that is so for all.
    func connect(
        toOneOf addresses: [ServerAddress], _ issuer: UserTokenIssuer
    ) async throws(NetworkError) -> NATSConnection {
        var failure: NetworkError?
        for address in addresses {
            do throws(NetworkError) {
                return try await connect(to: address, issuer, timeout: .seconds(5))
            } catch {
                if failure?.isUnreachableServer ?? true || !error.isUnreachableServer { failure = error }
            }
            if Task.isCancelled { throw .cancelled }
        }
        throw failure ?? .notRunning
    }
}
