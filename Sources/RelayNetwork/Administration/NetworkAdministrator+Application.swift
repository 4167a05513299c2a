import NATS
import Relay

extension NetworkAdministrator {
    /// Blocks the whole network for its users until ``unblockApplication()``: every connection ends and new ones are
    /// refused. Messages, postboxes and users stay. Needs no running network.
    /// - Throws: as ``ban(user:reason:)``, and `.timedOut` when connections do not end; the block stays, and new
    ///   connections are refused.
    public func blockApplication(reason: String? = nil) async throws(NetworkError) {
        let reason = try Self.checked(reason)
        try await alone { identity throws(NetworkError) in
            try PrivateFile.write([], to: directory.blockMarker)
            try directory.identified { identity throws(NetworkError) in
                try AccountSigner(directory, identity).installAll()
            }
            try await enact(identity) { system, address throws(NetworkError) in
                let connected = Set(try await system.connections().map(\.account))
                let users = connected.compactMap(directory.user(ofAccount:))
                // Clients that the message does not reach are still kept out.
                try? await tell(users.map(\.text), .applicationBlocked, reason, address, identity)
                // The connected users come first; the server may know the accounts of others too.
                try await install(users, system)
                try await install(directory.userNames().filter { !users.contains($0) }, system)
                let deadline = ContinuousClock.now + .seconds(30)
                while try await !system.connections().isEmpty {
                    guard ContinuousClock.now < deadline else { throw .timedOut("Ending the users' connections") }
                    try await Pause.sleep(.milliseconds(20))
                }
            }
        }
    }

    /// Lifts the block; users can connect when this returns.
    /// - Throws: as ``ban(user:reason:)``.
    public func unblockApplication() async throws(NetworkError) {
        try await alone { identity throws(NetworkError) in
            guard directory.isBlocked else { return }
            PrivateFile.remove(directory.blockMarker)
            try directory.identified { identity throws(NetworkError) in
                try AccountSigner(directory, identity).installAll()
            }
            try await enact(identity) { system, _ throws(NetworkError) in
                try await install(directory.userNames(), system)
            }
        }
    }

    /// Hands the server the tokens of users' accounts as they are kept.
    func install(_ users: [UserName], _ system: SystemInterface) async throws(NetworkError) {
        for user in users {
            guard let record = try directory.record(of: user),
                let token = try PrivateFile.read(directory.tokenPath(ofAccount: record.account))
            else { continue }
            try await system.install(String(decoding: token, as: UTF8.self))
        }
    }
}
