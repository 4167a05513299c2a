import Relay

// Acts whose process was ended before the servers had heard all of them.
extension NetworkDirectory {
    private var unfinishedFile: String { path + "/unfinished.json" }

    /// The users about whom something was decided of which the servers may have heard nothing, or half.
    func unfinishedUsers() throws(NetworkError) -> [UserName] {
        try (PrivateFile.readJSON([String].self, from: unfinishedFile) ?? []).compactMap { try? UserName($0) }
    }

    /// Something is decided about users, and servers are to hear of it.
    func markUnfinished(_ users: [UserName]) throws(NetworkError) {
        try keepUnfinished(Set(unfinishedUsers()).union(users))
    }

    /// The servers have heard all about these users.
    func markFinished(_ users: [UserName]) throws(NetworkError) {
        let known = Set(try unfinishedUsers())
        if !known.isEmpty { try keepUnfinished(known.subtracting(users)) }
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
        var words: [(user: String, message: ControlMessage)] = []
        for user in users {
            guard let closure = try directory.record(of: user)?.closure(block: block, at: Self.now) else { continue }
            words.append((user.text, closure))
        }
        try await onServer(identity) { system, address throws(NetworkError) in
            // Clients that the message does not reach are still kept out.
            if !words.isEmpty { try? await tell(words, address, identity) }
            try await exchange(users, identity, system)
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
