import NATS

/// Why the private network could not do what was asked. No case carries a secret.
///
/// Whatever uses the network's folder may throw ``file(path:reason:)``, ``damaged(path:reason:)`` or
/// ``credentials(_:)``, and whatever waits ``cancelled``; other cases are documented where they are thrown.
public enum NetworkError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A user's name is not `[A-Za-z0-9_][A-Za-z0-9+=_-]{0,63}`.
    case invalidUserName(String)
    /// The network has another user whose name differs only in case.
    case userNameTaken(String, by: String)
    /// The network has no user of this name.
    case unknownUser(String)
    /// The administrator banned the user, for this reason if one was given.
    case userBanned(String, reason: String?)
    /// The administrator closed the user's account, for this reason if one was given.
    case userDeactivated(String, reason: String?)
    /// The user's access ended, in seconds since 1970.
    case userExpired(String, end: Int64)
    /// The user has no such key, or several match; the text is a sentence that says which.
    case unknownKey(String)
    /// The user has the maximum number of valid keys, or too much is stored about them all.
    case tooManyKeys(String)
    /// This machine already has a valid key as this user.
    case keyInUse(String)
    /// This machine's key as this user was revoked.
    case keyRevoked(String)
    /// A reason is too long, or contains line breaks or other control characters.
    case invalidReason
    /// Topics that cannot be granted; the reason says why.
    case invalidGrant(topics: String, reason: String)
    /// A file or folder of the network cannot be used; the reason is the system's.
    case file(path: String, reason: String)
    /// A file of the network has unexpected content.
    case damaged(path: String, reason: String)
    /// The network's settings are invalid; the reason says why.
    case invalidSettings(path: String, reason: String)
    /// The network cannot listen as requested; the text is a sentence that says why.
    case invalidListener(String)
    /// A certificate, its key or an authority to trust cannot be used; the text is a sentence that names the file.
    case invalidCertificate(String)
    /// A network cannot be put onto a cluster, or reached there; the text is a sentence that says why.
    case invalidProvision(String)
    /// An invitation cannot be used.
    case invitation(InvitationFailure)
    /// No `nats-server` was found on this machine.
    case serverMissing
    /// The `nats-server` named in `PARLEY_NATS_SERVER` cannot be run.
    case serverNotExecutable(path: String)
    /// The server does not keep running; the reason contains its last output.
    case serverFailed(String)
    /// The host process could not be started.
    case hostNotStarted(reason: String)
    /// The host process gave up; the text is its own sentence.
    case hostFailed(String)
    /// Something took too long; the text says what.
    case timedOut(String)
    /// The network must be running for this, but is not.
    case notRunning
    /// The server refused an administrative request; the text is its reason.
    case refused(String)
    /// The connection to the server failed.
    case connection(NATSError)
    /// The change is stored, but not all servers or services know it yet; the text says why.
    case notInEffect(String)
    /// A key, token or credentials file of the network was refused.
    case credentials(CredentialsError)
    /// The caller's task was cancelled.
    case cancelled

    /// What happened, and what to do next.
    public var description: String {
        switch self {
        case .invalidUserName(let name):
            "\(name.debugDescription) cannot be a user's name: use 1 to 64 letters, digits, +, =, _ and -, and begin with a letter, a digit or _."
        case .userNameTaken(let name, let other):
            "\(name) cannot be a user's name: the network has the user \(other), and names must differ in more than case. Use \(other), or another name."
        case .unknownUser(let name):
            "The network has no user \(name.debugDescription): `parley network user add` makes one."
        case .userBanned(let name, let reason):
            "\(name) is banned\(Self.clause(reason)). `parley network user unban \(name)` lifts the ban."
        case .userDeactivated(let name, let reason):
            "\(name) was deactivated\(Self.clause(reason)). `parley network user activate \(name)` opens the account again."
        case .userExpired(let name, let end):
            "The access of \(name) has ended: it held \(NetworkUser.words(untilEnd: end)). `parley network user expire \(name) 30d` extends it."
        case .unknownKey(let sentence): sentence
        case .tooManyKeys(let name):
            "\(name) has too many keys: \(UserKey.limit) valid ones, or too much is stored about them all. `parley network key revoke \(name) KEY` revokes one; expired ones are forgotten after a week."
        case .keyInUse(let name):
            "This machine already has a key for --as \(name). Write another one to a file with --out, or revoke the first: `parley network key list \(name)` shows it."
        case .keyRevoked(let name):
            "The key of \(name) on this machine was revoked, and is not replaced automatically. `parley network key new \(name)` makes another for --as \(name)."
        case .invalidReason:
            "The reason cannot be used: write at most \(NetworkAdministrator.maximumReasonLength) bytes on one line."
        case .invalidGrant(let topics, let reason): "The topics \(topics.debugDescription) cannot be granted: \(reason)"
        case .file(let path, let reason): "\(path) cannot be used: \(reason)."
        case .damaged(let path, let reason):
            "\(path) is damaged: \(reason). Restore it, or move the network's folder away to begin a new network."
        case .invalidSettings(let path, let reason):
            "\(path) cannot be used: \(reason). Correct it, or remove it to use the default settings."
        case .invalidListener(let sentence), .invalidCertificate(let sentence), .invalidProvision(let sentence):
            sentence
        case .invitation(let failure): failure.description
        case .serverMissing: "nats-server is not installed: run `./setup`, or name it in PARLEY_NATS_SERVER."
        case .serverNotExecutable(let path):
            "PARLEY_NATS_SERVER names \(path), which cannot be run: correct it, or unset it and run `./setup`."
        case .serverFailed(let reason): "nats-server does not keep running: \(reason)"
        case .hostNotStarted(let reason): "The private network could not be started: \(reason)."
        case .hostFailed(let sentence): sentence
        case .timedOut(let what):
            "\(what) took too long. Try again; if this keeps happening, see the network's host.log."
        case .notRunning: "The private network is not running: start it with `parley network start`."
        case .refused(let reason): "The network's server refused the request: \(reason)."
        case .connection(let error): "The network's server cannot be used: \(error)"
        case .notInEffect(let reason):
            "It is decided and kept, but not in effect everywhere: \(reason) Repeat the command later."
        case .credentials(let error): "\(error)"
        case .cancelled: "Cancelled."
        }
    }
}

extension NetworkError {
    init(_ error: any Error) {
        self =
            switch error {
            case let error as NetworkError: error
            case let error as NATSError: .connection(error)
            case let error as CredentialsError: .credentials(error)
            case let error as InvitationFailure: .invitation(error)
            case is CancellationError: .cancelled
            default: .refused("\(error)")
            }
    }

    private static func clause(_ reason: String?) -> String { reason.map { ": \($0)" } ?? "" }

    static func system(_ path: String, _ code: Int32) -> NetworkError {
        .file(path: path, reason: SystemCall.reason(code))
    }

    /// Whether the server dropped or refused a connection without giving a reason.
    var isLostConnection: Bool {
        switch self {
        case .connection(.connectionLost), .connection(.connectionRefused), .connection(.closedByServer(nil)),
            .connection(.staleConnection):
            true
        default: false
        }
    }

    var isOfProvision: Bool { if case .invalidProvision = self { true } else { false } }

    /// Whether a server could not be reached, so that another one of the network might be.
    var isUnreachableServer: Bool {
        switch self {
        case .connection(.unreachable), .connection(.unresolvableHost), .connection(.timeout): true
        default: isLostConnection
        }
    }

    /// Whether no one answered, as while a stream has no leader.
    var isWithoutAnswer: Bool {
        switch self {
        case .connection(.noResponders): true
        // The server's answer while there is no leader (JSClusterNotAvailErr).
        case .connection(.jetStream(let failure)) where failure.errorCode == 10_008: true
        default: isUnreachableServer
        }
    }

    /// The same error, but after a change that is stored and has not reached the servers or the services.
    var ofDecision: NetworkError {
        switch self {
        case .connection, .timedOut, .refused: .notInEffect(description)
        default: self
        }
    }
}

func translated<R>(_ body: () throws -> R) throws(NetworkError) -> R {
    do { return try body() } catch { throw NetworkError(error) }
}

func reached<R>(_ body: () async throws -> R) async throws(NetworkError) -> R {
    do { return try await body() } catch { throw NetworkError(error) }
}
