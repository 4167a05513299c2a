import Relay

extension NetworkAdministrator {
    /// Tells the services of a network on a cluster about the changes to its users since the last call.
    func publishUsers(_ identity: NetworkIdentity) async throws(NetworkError) {
        try await withUserRegister(identity) { register throws(NetworkError) in
            try await register.publish(directory.block())
            for user in directory.unpublishedUsers() {
                if let record = try directory.record(of: user) { try await register.publish(record, of: user) }
                directory.markPublished(user)
            }
        }
    }

    /// Hands the accounts of a new user or of new keys to servers that do not read them from the network's folder.
    func introduce(_ user: UserName, _ identity: NetworkIdentity) async throws(NetworkError) {
        guard try directory.cluster() != nil else { return }
        try await enact(identity) { system throws(NetworkError) in try await install([user], on: system) }
    }

    /// Runs the body with the users of a cluster's network; repeats it if no server answers, so it must be repeatable.
    func withUserRegister<R>(
        _ identity: NetworkIdentity, _ body: (BucketUserRegister) async throws(NetworkError) -> R
    ) async throws(NetworkError) -> R {
        // The bucket does not answer until the servers have chosen its leader, which takes seconds.
        try await persist(until: .now + .seconds(30), every: .milliseconds(250), where: \.isWithoutAnswer) {
            try await HostRole.keeping.withJetStream(at: directory.places(), identity.issuer) { jetStream in
                try await body(BucketUserRegister(jetStream))
            }
        }
    }
}

// Changes whose process ended before all servers heard of them.
extension NetworkDirectory {
    private var unfinishedFile: String { path + "/unfinished.json" }

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
    /// Applies changes of users to the running network, and tells those whose accounts are closed.
    func finish(_ users: [UserName], _ identity: NetworkIdentity) async throws(NetworkError) {
        let block = directory.block()
        var words: [(user: UserName, message: ControlMessage)] = []
        for user in users {
            guard let closure = try directory.record(of: user)?.closure(block: block, at: Self.now) else { continue }
            words.append((user, closure))
        }
        try await onServer(identity) { system throws(NetworkError) in
            // Clients that miss the message are shut out all the same.
            if !words.isEmpty { try? await tell(words, on: system) }
            let narrowings = try directory.narrowings()
            if !narrowings.isEmpty {
                // The accounts first: users who still may read make their readers again.
                try await install(users, on: system)
                try await endReaders(of: narrowings, on: system)
            }
            try await exchange(users, on: system)
        }
    }

    /// Completes interrupted changes until the task is cancelled. Otherwise an account could stay without room for any
    /// connection, and its user would never be told why.
    func finishActs() async {
        var told: NetworkError?
        while !Task.isCancelled {
            do throws(NetworkError) {
                if try !directory.unfinishedUsers().isEmpty {
                    // Under the lock no other administrator can still be at work on them.
                    let left = try await alone { _ throws(NetworkError) in try directory.unfinishedUsers() }
                    let finished = Set(left).subtracting(try directory.unfinishedUsers())
                    if !finished.isEmpty {
                        logger.notice("an interrupted change was completed", metadata: ["users": "\(finished.count)"])
                    }
                }
                told = nil
            } catch {
                if error != .cancelled, error != told {
                    logger.warning("an interrupted change is not completed yet", metadata: ["error": "\(error)"])
                }
                told = error
            }
            do { try await Task.sleep(for: .seconds(1)) } catch { return }
        }
    }
}
