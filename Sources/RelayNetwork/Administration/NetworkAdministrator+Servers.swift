import Relay

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
        try await enact(identity) { system throws(NetworkError) in try await install([user], on: system) }
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

// Acts whose process was ended before the servers had heard all of them.
extension NetworkDirectory {
    private var unfinishedFile: String { path + "/unfinished.json" }

    /// The users about whom something was decided of which the servers may have heard nothing, or half.
    func unfinishedUsers() throws(NetworkError) -> [UserName] {
        try (PrivateFile.readJSON([String].self, from: unfinishedFile) ?? []).compactMap { try? UserName($0) }
    }

    func markUnfinished(_ users: [UserName]) throws(NetworkError) {
        try keepUnfinished(Set(unfinishedUsers()).union(users))
    }

    func markFinished(_ users: [UserName]) throws(NetworkError) {
        try keepUnfinished(Set(unfinishedUsers()).subtracting(users))
    }

    private func keepUnfinished(_ users: Set<UserName>) throws(NetworkError) {
        guard !users.isEmpty else { return PrivateFile.remove(unfinishedFile) }
        try PrivateFile.writeJSON(users.map(\.text), to: unfinishedFile)
    }
}

extension NetworkAdministrator {
    /// Has what was decided about users hold on the running network, and tells those whose accounts are closed.
    func finish(_ users: [UserName], _ identity: NetworkIdentity) async throws(NetworkError) {
        let block = directory.block()
        var words: [(user: UserName, message: ControlMessage)] = []
        for user in users {
            guard let closure = try directory.record(of: user)?.closure(block: block, at: Self.now) else { continue }
            words.append((user, closure))
        }
        try await onServer(identity) { system throws(NetworkError) in
            // Clients that the message does not reach are still kept out.
            if !words.isEmpty { try? await tell(words, on: system) }
            let narrowings = try directory.narrowings()
            if !narrowings.isEmpty {
                // The accounts before: whoever still may makes a reader anew.
                try await install(users, on: system)
                try await endReaders(of: narrowings, on: system)
            }
            try await exchange(users, on: system)
        }
    }

    /// Finishes acts whose process was ended in the middle, until the task is cancelled. Without this an account could
    /// stay without room for any connection, and its user without a word of why.
    func finishActs() async {
        var told: NetworkError?
        while !Task.isCancelled {
            do throws(NetworkError) {
                if try !directory.unfinishedUsers().isEmpty {
                    // Only while nobody acts is what is found there unfinished.
                    let left = try await alone { _ throws(NetworkError) in try directory.unfinishedUsers() }
                    let finished = Set(left).subtracting(try directory.unfinishedUsers())
                    if !finished.isEmpty {
                        logger.notice("an interrupted act was finished", metadata: ["users": "\(finished.count)"])
                    }
                }
                told = nil
            } catch {
                if error != .cancelled, error != told {
                    logger.warning("an act is not finished yet", metadata: ["error": "\(error)"])
                }
                told = error
            }
            do { try await Task.sleep(for: .seconds(1)) } catch { return }
        }
    }
}
