import ArgumentParser
import Platform
import Relay
import RelayFaults
import RelayNetwork

/// A failure with its exit status (sysexits) and the sentence for standard error.
struct CommandFailure: Error, Hashable {
    let code: Int32
    let text: String

    init(_ code: Int32, _ text: String) {
        self.code = code
        self.text = text
    }

    static let usage: Int32 = 64
    static let badData: Int32 = 65
    static let noConnection: Int32 = 69
    static let cannotCreate: Int32 = 73
    static let notAcknowledged: Int32 = 75
    static let refused: Int32 = 77
    static let badConfiguration: Int32 = 78
    static let interrupted: Int32 = 130

    /// What an error means for whoever called the program; nil where that is not known.
    init?(of error: any Error) {
        switch error {
        case let error as CommandFailure: self = error
        case let error as RelayError: self.init(error)
        case let error as NetworkError: self.init(error)
        case let error as FaultError: self.init(Self.cannotCreate, error.description)
        case is CancellationError: self.init(Self.interrupted, "Interrupted.")
        default: return nil
        }
    }

    init(_ error: RelayError) { self.init(Self.code(error), error.words) }

    init(_ error: NetworkError) {
        let code: Int32
        switch error {
        case .invalidUserName, .userNameTaken, .unknownUser, .invalidReason, .invalidGrant, .unknownKey, .tooManyKeys,
            .keyInUse, .invitation(.damaged):
            code = Self.badData
        case .invalidListener, .invalidProvision: code = Self.usage
        case .file: code = Self.cannotCreate
        case .damaged, .serverMissing, .serverNotExecutable, .credentials, .invalidSettings:
            code = Self.badConfiguration
        case .serverFailed, .hostNotStarted, .hostFailed, .timedOut, .notRunning, .refused, .connection, .notInEffect,
            .invitation(.unavailable):
            code = Self.noConnection
        case .userBanned, .userDeactivated, .keyRevoked, .invitation: code = Self.refused
        case .cancelled: code = Self.interrupted
        }
        self.init(code, error.description)
    }

    /// Whether a command failed for want of a connection. What a call failed with, over a connection that was there, is
    /// a failure of the command already.
    static func meansNoConnection(_ error: any Error) -> Bool {
        !(error is CommandFailure) && CommandFailure(of: error)?.code == noConnection
    }

    /// Whether it is that the network did not answer, and no refusal.
    var meansNoAnswer: Bool { code == Self.noConnection || code == Self.notAcknowledged }

    private static func code(_ error: RelayError) -> Int32 {
        switch error {
        // The same call would meet the same conflict again, so this is no matter of time.
        case .invalidTopic, .invalidMessage, .tooLarge, .invalidToken, .notFound, .invalidArgument, .conflict:
            return badData
        case .invalidCredentials: return badConfiguration
        case .notAuthorized: return refused
        case .timeout, .uncertain: return notAcknowledged
        case .cancelled: return interrupted
        case .storage: return cannotCreate
        case .connection(let reason): return code(reason)
        case .notInitialized, .notConnected, .needsConnection, .alreadyConnected, .outboxFull, .busy, .server:
            return noConnection
        // Nobody has that address; a disabled postbox may take letters later.
        case .postboxNotAccepting(_, .unknownUser), .postboxNotAccepting(_, .unknownPostbox): return badData
        case .postboxNotAccepting: return noConnection
        }
    }

    private static func code(_ reason: ConnectionReason) -> Int32 {
        switch reason {
        case .authenticationFailed, .tokenExpired, .credentialsRevoked, .accessExpired, .kicked, .kickedByOtherDevice,
            .banned, .appBlocked, .deactivated:
            return refused
        case .invalidCredentials, .tlsFailure: return badConfiguration
        case .closedByUser, .networkUnavailable, .connectionLost, .permissionsChanged, .unreachable, .timeLimit,
            .windowExpired, .backgrounded, .proxyUnavailable, .store, .unknown:
            return noConnection
        }
    }
}

extension ConnectionStatus {
    /// The exit status of a program that ends while something waits for the connection: a session that ended says why,
    /// and otherwise it is a matter of time.
    var codeOfEnd: Int32 {
        guard state == .disconnected, let reason, reason != .closedByUser else { return CommandFailure.notAcknowledged }
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
    return ExitCode(failure.code)
}
