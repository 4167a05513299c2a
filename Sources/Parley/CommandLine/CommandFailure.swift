import ArgumentParser
import Platform
import Relay
import RelayFaults
import RelayNetwork

/// What the program's end says to whoever called it (sysexits).
struct CommandStatus: Hashable, ExpressibleByIntegerLiteral {
    let rawValue: Int32

    init(integerLiteral value: Int32) { rawValue = value }

    static let usage: Self = 64
    static let badData: Self = 65
    static let noConnection: Self = 69
    static let cannotCreate: Self = 73
    static let notAcknowledged: Self = 75
    static let refused: Self = 77
    static let badConfiguration: Self = 78
    /// 128 and SIGHUP's number.
    static let hangUp: Self = 129
    static let interrupted: Self = 130
}

extension ExitCode {
    init(of status: CommandStatus) { self.init(status.rawValue) }
}

/// A failure with its exit status and the sentence for standard error.
struct CommandFailure: Error, Hashable {
    let code: CommandStatus
    let text: String

    init(_ code: CommandStatus, _ text: String) {
        self.code = code
        self.text = text
    }

    /// What an error means for whoever called the program; nil where that is not known.
    init?(of error: any Error) {
        switch error {
        case let error as CommandFailure: self = error
        case let error as RelayError: self.init(error)
        case let error as NetworkError: self.init(error)
        case let error as FaultError: self.init(.cannotCreate, error.description)
        case is CancellationError: self.init(.interrupted, "Interrupted.")
        default: return nil
        }
    }

    init(_ error: RelayError) { self.init(Self.code(error), error.words) }

    init(_ error: NetworkError) {
        let code: CommandStatus
        switch error {
        case .invalidUserName, .userNameTaken, .unknownUser, .invalidReason, .invalidGrant, .unknownKey, .tooManyKeys,
            .keyInUse, .invitation(.damaged):
            code = .badData
        case .invalidListener, .invalidProvision: code = .usage
        case .file: code = .cannotCreate
        case .damaged, .serverMissing, .serverNotExecutable, .credentials, .invalidSettings, .invalidCertificate:
            code = .badConfiguration
        case .serverFailed, .hostNotStarted, .hostFailed, .timedOut, .notRunning, .refused, .connection, .notInEffect,
            .invitation(.unavailable):
            code = .noConnection
        case .userBanned, .userDeactivated, .userExpired, .keyRevoked, .invitation: code = .refused
        case .cancelled: code = .interrupted
        }
        self.init(code, error.description)
    }

    /// Whether a command failed for want of a connection. What a call failed with, over a connection that was there, is
    /// a failure of the command already.
    static func meansNoConnection(_ error: any Error) -> Bool {
        !(error is CommandFailure) && CommandFailure(of: error)?.code == .noConnection
    }

    /// Whether it is that the network did not answer, and no refusal.
    var meansNoAnswer: Bool { code == .noConnection || code == .notAcknowledged }

    private static func code(_ error: RelayError) -> CommandStatus {
        switch error {
        // The same call would meet the same conflict again, so this is no matter of time.
        case .invalidTopic, .invalidMessage, .tooLarge, .invalidToken, .notFound, .invalidArgument, .conflict:
            return .badData
        case .invalidCredentials: return .badConfiguration
        case .notAuthorized: return .refused
        case .timeout, .uncertain: return .notAcknowledged
        case .cancelled: return .interrupted
        case .storage: return .cannotCreate
        case .connection(let reason): return code(reason)
        case .notInitialized, .notConnected, .needsConnection, .alreadyConnected, .outboxFull, .busy, .server:
            return .noConnection
        // Nobody has that address; a disabled postbox may take letters later.
        case .postboxNotAccepting(_, .unknownUser), .postboxNotAccepting(_, .unknownPostbox): return .badData
        case .postboxNotAccepting: return .noConnection
        }
    }

    private static func code(_ reason: ConnectionReason) -> CommandStatus {
        switch reason {
        case .authenticationFailed, .tokenExpired, .credentialsRevoked, .accessExpired, .kicked, .kickedByOtherDevice,
            .banned, .appBlocked, .deactivated:
            return .refused
        case .invalidCredentials, .tlsFailure: return .badConfiguration
        case .closedByUser, .networkUnavailable, .connectionLost, .permissionsChanged, .unreachable, .timeLimit,
            .windowExpired, .backgrounded, .proxyUnavailable, .store, .unknown:
            return .noConnection
        }
    }
}

extension ConnectionStatus {
    /// The exit status of a program that ends while something waits for the connection: a session that ended says why,
    /// and otherwise it is a matter of time.
    var codeOfEnd: CommandStatus {
        guard state == .disconnected, let reason, reason != .closedByUser else { return .notAcknowledged }
        return CommandFailure(.connection(reason)).code
    }

    /// Why there is no connection, as a sentence behind another one; empty where there is one, or nobody knows.
    var hindrance: String {
        guard state != .connected, let reason else { return "" }
        return " " + reason.words
    }
}

extension RelayClient {
    /// A call's failure with what the client knows of the connection: a call that was not answered in time, or that
    /// needs a connection, does not say why there is none.
    nonisolated func explained(_ error: RelayError) -> CommandFailure {
        let failure = CommandFailure(error)
        switch error {
        case .notConnected: return CommandFailure(failure.code, "There is no connection." + status.hindrance)
        case .timeout, .needsConnection: return CommandFailure(failure.code, error.words + status.hindrance)
        default: return failure
        }
    }
}

/// Says what went wrong, where that was not said yet, and gives the exit status for it.
func reported(_ error: any Error) -> any Error {
    guard let failure = CommandFailure(of: error) else { return error }
    Output.complain("parley: " + failure.text)
    return ExitCode(of: failure.code)
}
