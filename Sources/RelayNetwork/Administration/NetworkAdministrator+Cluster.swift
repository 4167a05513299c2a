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
        // The bucket answers nobody until the servers have chosen its leader, which takes them seconds.
        try await persist(until: .now + .seconds(30), every: .milliseconds(250), where: \.isWithoutAnswer) {
            try await HostRole.keeping.withJetStream(at: directory.places(), identity.issuer) { jetStream in
                try await body(BucketUserRegister(jetStream))
            }
        }
    }
}
