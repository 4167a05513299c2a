import NATS
import Relay

extension NetworkAdministrator {
    /// Blocks the whole network for its users until ``unblockApplication()``: every connection ends, and whoever logs
    /// in is told why and kept out. Messages, postboxes and users stay. Needs no running network.
    /// - Throws: as ``ban(user:reason:)``.
    public func blockApplication(reason: String? = nil) async throws(NetworkError) {
        let reason = try Self.checked(reason)
        try await alone { identity throws(NetworkError) in
            try directory.markUnfinished(directory.userNames())
            try PrivateFile.writeJSON(
                UserStanding.Decision(since: Self.now, reason: reason), to: directory.blockMarker)
            try directory.identified { identity throws(NetworkError) in
                try AccountSigner(directory, identity).installAll()
            }
            try await enact(identity) { system, address throws(NetworkError) in
                let connected = Set(try await system.connections().map(\.account))
                let users = connected.compactMap(directory.user(ofAccount:))
                // Clients that the message does not reach are still kept out.
                try? await tell(users.map(\.text), .applicationBlocked, reason, address, identity)
                // The connected users come first; the server may know the accounts of others too.
                try await exchange(users + directory.userNames().filter { !users.contains($0) }, identity, system)
            }
        }
    }

    /// Lifts the block; users can connect when this returns.
    /// - Throws: as ``ban(user:reason:)``.
    public func unblockApplication() async throws(NetworkError) {
        try await alone { identity throws(NetworkError) in
            guard directory.isBlocked else { return }
            try directory.markUnfinished(directory.userNames())
            PrivateFile.remove(directory.blockMarker)
            try directory.identified { identity throws(NetworkError) in
                try AccountSigner(directory, identity).installAll()
            }
            try await enact(identity) { system, _ throws(NetworkError) in
                try await exchange(directory.userNames(), identity, system)
            }
        }
    }
}
