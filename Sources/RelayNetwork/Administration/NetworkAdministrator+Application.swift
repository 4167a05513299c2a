import NATS
import Relay

extension NetworkAdministrator {
    /// Blocks the whole network for its users until ``unblockApplication()``: every connection ends and nobody gets in.
    /// Messages, postboxes and users stay. Needs no running network.
    /// - Throws: as ``ban(user:reason:)``, and `.timedOut` when connections do not end; the block stays, and nobody gets
    ///   in anew.
    public func blockApplication(reason: String? = nil) async throws(NetworkError) {
        try await blockApplication(reason: reason, limit: .seconds(30))
    }

    /// As the public form, with another time for the connections to end.
    func blockApplication(reason: String?, limit: Duration) async throws(NetworkError) {
        let reason = try Self.checked(reason)
        try await alone { identity throws(NetworkError) in
            try PrivateFile.write([], to: directory.blockMarker)
            try await onServer(identity) { system, url throws(NetworkError) in
                let users = Set(try await system.connections().compactMap(\.name).filter { (try? UserName($0)) != nil })
                // Nobody can be told where the account is blocked already.
                try? await tell(users, .applicationBlocked, reason, url, identity)
                try await system.withdrawAccount(of: identity, in: directory)
                let deadline = ContinuousClock.now + limit
                while try await !system.connections().isEmpty {
                    guard ContinuousClock.now < deadline else { throw .timedOut("Ending the users' connections") }
                    try await Pause.sleep(.milliseconds(50))
                }
            }
        }
    }

    /// Lifts the block. A running network starts its server anew, since older servers do not take a blocked account's
    /// streams up again; this returns when users can connect.
    /// - Throws: as ``ban(user:reason:)``, and `.timedOut` when the server does not come back.
    public func unblockApplication() async throws(NetworkError) {
        try await alone { identity throws(NetworkError) in
            guard directory.isBlocked else { return }
            PrivateFile.remove(directory.blockMarker)
            let deadline = ContinuousClock.now + .seconds(60)
            while try directory.isHosted() {
                if let network = try await directory.running(),
                    let sender = try? await ControlSender(url: network.url, identity: identity)
                {
                    return sender.close()
                }
                guard ContinuousClock.now < deadline else { throw .timedOut("Unblocking the private network") }
                try await Pause.sleep(.milliseconds(100))
            }
        }
    }
}
