import ArgumentParser
import Platform
import Relay
import RelayFaults
import RelayNetwork

/// The program's exit status (sysexits).
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

/// A failure with its exit status and its sentence for standard error.
struct CommandFailure: Error, Hashable {
    let code: CommandStatus
    let text: String

    init(_ code: CommandStatus, _ text: String) {
        self.code = code
        self.text = text
    }

    /// The failure that an error means for the program's caller; nil if unknown.
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

    /// Whether a command failed because there was no connection. Failures of calls over an existing connection are
    /// `CommandFailure`s already.
    static func meansNoConnection(_ error: any Error) -> Bool {
        !(error is CommandFailure) && CommandFailure(of: error)?.code == .noConnection
    }

    /// Whether the network did not answer, rather than refuse.
    var meansNoAnswer: Bool { code == .noConnection || code == .notAcknowledged }

    private static func code(_ error: RelayError) -> CommandStatus {
        switch error {
        // The same call would meet the same conflict again, so waiting does not help.
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
        // An unknown address stays unknown; a disabled postbox may accept letters later.
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
    /// The exit status of a program that ends while something waits for the connection: the reason if the session
    /// ended, otherwise "not acknowledged".
    var codeOfEnd: CommandStatus {
        guard state == .disconnected, let reason, reason != .closedByUser else { return .notAcknowledged }
        return CommandFailure(.connection(reason)).code
    }

    /// Why there is no connection, as a sentence to append; empty if there is one or the reason is unknown.
    var hindrance: String {
        guard state != .connected, let reason else { return "" }
        return " " + reason.words
    }
}

extension RelayClient {
    /// A call's failure with the reason why there is no connection, which errors for a timeout or a missing connection
    /// do not contain.
    nonisolated func explained(_ error: RelayError) -> CommandFailure {
        let failure = CommandFailure(error)
        switch error {
        case .notConnected: return CommandFailure(failure.code, "There is no connection." + status.hindrance)
        case .timeout, .needsConnection: return CommandFailure(failure.code, error.words + status.hindrance)
        default: return failure
        }
    }
}

/// Prints what went wrong, unless ArgumentParser will, and returns the exit status for it.
func reported(_ error: any Error) -> any Error {
    guard let failure = CommandFailure(of: error) else { return error }
    Output.complain("parley: " + failure.text)
    return ExitCode(of: failure.code)
}
