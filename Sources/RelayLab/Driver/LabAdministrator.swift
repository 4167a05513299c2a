import NIOConcurrencyHelpers
import Platform
import Relay
import RelayNetwork

/// The administrator's acts on a user of a private network: for a network that goes on running for others, whose server
/// and disk are left alone.
public struct LabAdministrator: LabServerSide {
    private let administrator: NetworkAdministrator
    private let user: String
    /// When the user's access ends without a rehearsal, while one has it ended; the inner nil means never.
    private let endBefore = NIOLockedValueBox<Int64??>(nil)

    /// - Parameters:
    ///   - directory: the network's folder.
    ///   - user: the user whom the acts are about.
    public init(directory: NetworkDirectory, user: String) {
        administrator = NetworkAdministrator(directory: directory, name: "the lab")
        self.user = user
    }

    /// Does one of the administrator's acts.
    ///
    /// - Throws: `LabActError.notHere` for acts on the server itself, and what hinders the act.
    public func perform(_ act: LabAct) async throws {
        switch act.name {
        case .kick: try await administrator.kick(user: user, reason: act.reason)
        case .ban: try await administrator.ban(user: user, reason: act.reason)
        case .unban: try await administrator.unban(user: user)
        case .revoke: try await administrator.deactivate(user: user, reason: act.reason)
        case .readmit: try await administrator.activate(user: user)
        case .expire: try await expire(act.reason)
        case .extend:
            try await administrator.expire(user: user, at: endBefore.withLockedValue { $0 } ?? nil)
            endBefore.withLockedValue { $0 = nil }
        case .block: try await administrator.blockApplication(reason: act.reason)
        case .unblock: try await administrator.unblockApplication()
        default: throw LabActError.notHere(act.name)
        }
    }

    /// Ends the user's access now, and keeps in mind when it would have ended.
    private func expire(_ reason: String?) async throws {
        let before = try await administrator.users(named: user).first?.expires
        endBefore.withLockedValue { $0 = $0 ?? .some(before) }
        try await administrator.expire(user: user, at: Int64(Date().timeIntervalSince1970) - 1, reason: reason)
    }
}
