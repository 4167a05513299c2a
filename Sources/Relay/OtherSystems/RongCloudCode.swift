/// A RongCloud error code, as in its connect callbacks and its documentation.
public struct RongCloudCode: Hashable, Sendable, RawRepresentable {
    /// RongCloud's number.
    public let rawValue: Int

    /// The code of a number, known or not.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// 30001: the channel is not valid.
    public static let channelInvalid = RongCloudCode(rawValue: 30_001)
    /// 30002: there is no network.
    public static let networkUnavailable = RongCloudCode(rawValue: 30_002)
    /// 30021: the secure or framed transport could not be set up.
    public static let transportFailed = RongCloudCode(rawValue: 30_021)
    /// 30027: the connection is being closed by its owner.
    public static let closing = RongCloudCode(rawValue: 30_027)
    /// 31000: no answer to the connect request in time.
    public static let acknowledgementTimeout = RongCloudCode(rawValue: 31_000)
    /// 31002: the identifier was rejected.
    public static let identifierRejected = RongCloudCode(rawValue: 31_002)
    /// 31004: the token is wrong.
    public static let tokenIncorrect = RongCloudCode(rawValue: 31_004)
    /// 31008: the application is blocked or deleted.
    public static let appBlocked = RongCloudCode(rawValue: 31_008)
    /// 31009: the user is banned.
    public static let userBlocked = RongCloudCode(rawValue: 31_009)
    /// 31010: kicked after connecting.
    public static let kicked = RongCloudCode(rawValue: 31_010)
    /// 31020: the token has expired.
    public static let tokenExpired = RongCloudCode(rawValue: 31_020)
    /// 31023: signed in on another device while connecting.
    public static let otherDeviceLogin = RongCloudCode(rawValue: 31_023)
    /// 31028: the proxy does not work. Newer headers say 34245.
    public static let proxyUnavailable = RongCloudCode(rawValue: 31_028)
    /// 31029: the user's account was deactivated.
    public static let userAbandoned = RongCloudCode(rawValue: 31_029)
    /// 32011: the transport is gone while the application is suspended.
    public static let transportDisconnected = RongCloudCode(rawValue: 32_011)
    /// 32054: the connection was reset by the peer; reconnects automatically.
    public static let connectionReset = RongCloudCode(rawValue: 32_054)
    /// 33002: the local database failed.
    public static let databaseError = RongCloudCode(rawValue: 33_002)
    /// 34006: `connect` with a time limit ran out of time.
    public static let connectTimeout = RongCloudCode(rawValue: 34_006)
    /// 34245: the proxy does not work, as newer headers number it.
    public static let proxyUnavailableInNewHeaders = RongCloudCode(rawValue: 34_245)
}

extension RongCloudCode {
    /// Success.
    public static let success = RongCloudCode(rawValue: 0)
    /// No answer in time.
    public static let responseTimeout = RongCloudCode(rawValue: 30_003)
    /// The client was used before its servers were set.
    public static let notInitialized = RongCloudCode(rawValue: 33_001)
    /// An argument of a call is invalid.
    public static let invalidParameter = RongCloudCode(rawValue: 33_003)
    /// Someone else set the key at the same time.
    public static let keyValueConflict = RongCloudCode(rawValue: 23_431)
    /// A session of another user is active.
    public static let alreadyConnected = RongCloudCode(rawValue: 34_001)

    /// The code of a call's failure.
    public init(_ error: RelayError) {
        self =
            switch error {
            case .connection(let reason): RongCloudCode(reason)
            case .invalidCredentials: .tokenIncorrect
            case .notInitialized: .notInitialized
            case .notConnected, .needsConnection: .channelInvalid
            case .alreadyConnected: .alreadyConnected
            case .storage: .databaseError
            case .cancelled: .closing
            case .timeout, .uncertain: .responseTimeout
            case .server(let code, _): RongCloudCode(rawValue: code)
            case .conflict: .keyValueConflict
            case .invalidTopic, .invalidMessage, .tooLarge, .outboxFull, .invalidArgument, .invalidToken, .notFound,
                .postboxNotAccepting, .notAuthorized, .busy:
                .invalidParameter
            }
    }
}

extension RongCloudCode {
    /// RongCloud's code for a reason. Unknown codes are passed through.
    public init(_ reason: ConnectionReason) {
        self =
            switch reason {
            case .closedByUser: .closing
            case .networkUnavailable: .networkUnavailable
            case .connectionLost, .permissionsChanged: .connectionReset
            case .unreachable: .channelInvalid
            case .timeLimit: .connectTimeout
            case .windowExpired: .acknowledgementTimeout
            case .backgrounded: .transportDisconnected
            case .invalidCredentials: .identifierRejected
            case .authenticationFailed, .credentialsRevoked: .tokenIncorrect
            case .tokenExpired, .accessExpired: .tokenExpired
            case .kicked: .kicked
            case .kickedByOtherDevice: .otherDeviceLogin
            case .banned: .userBlocked
            case .appBlocked: .appBlocked
            case .deactivated: .userAbandoned
            case .proxyUnavailable: .proxyUnavailable
            case .tlsFailure: .transportFailed
            case .store: .databaseError
            case .unknown(let code): RongCloudCode(rawValue: code)
            }
    }

    /// The code of a status's reason; nil if it has none.
    public init?(_ status: ConnectionStatus) {
        guard let reason = status.reason else { return nil }
        self.init(reason)
    }

    /// The meaning of the code. Texts are empty and the limit is zero, because the code does not carry them.
    public var reason: ConnectionReason {
        if self == .proxyUnavailableInNewHeaders { return .proxyUnavailable("") }
        return Self.reasons.first { RongCloudCode($0) == self } ?? .unknown(rawValue)
    }

    private static let reasons: [ConnectionReason] = [
        .closedByUser, .networkUnavailable, .connectionLost(""), .unreachable(""), .timeLimit(.zero), .windowExpired,
        .backgrounded, .invalidCredentials(""), .authenticationFailed(""), .tokenExpired, .kicked(by: nil),
        .kickedByOtherDevice(nil), .banned(nil), .appBlocked(nil), .deactivated(nil), .proxyUnavailable(""),
        .tlsFailure(""), .store(""),
    ]
}
