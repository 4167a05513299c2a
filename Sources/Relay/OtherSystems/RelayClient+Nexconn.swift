/// What a connection needs (Nexconn's connection parameters).
public final class ConnectParams {
    /// The access token, a bearer JWT.
    public var token: String
    /// Seconds after which connecting is given up; zero or less tries until it succeeds or a reason is final.
    public var timeout = 0

    /// Parameters with a token and no limit.
    public init(token: String) { self.token = token }
}

// The call of Nexconn's SDK, under its names.
extension RelayClient {
    /// Opens the local store, then connects with an access token.
    ///
    /// - Parameters:
    ///   - params: the token and the limit; read before this call returns.
    ///   - databaseOpenedHandler: called once, before the network is touched: whether the store was made anew, as at
    ///     the first start and after damage, or why there is none. Not called when the parameters are refused.
    ///   - completionHandler: called exactly once, with the user or the error: ``RelayError/notInitialized``,
    ///     ``RelayError/alreadyConnected``, ``RelayError/invalidCredentials(_:)``, ``RelayError/invalidArgument(_:)``
    ///     for a token whose user has no possible name, ``RelayError/connection(_:)``, or ``RelayError/cancelled`` when
    ///     the client is released first.
    public nonisolated func connect(
        params: ConnectParams,
        databaseOpenedHandler: (@Sendable (_ isRecreated: Bool, _ error: RelayError?) -> Void)? = nil,
        completionHandler: (@Sendable (_ userID: String?, _ error: RelayError?) -> Void)? = nil
    ) {
        connect(token: params.token, timeLimit: params.timeout) { opening in
            databaseOpenedHandler?(opening.isRecreated, opening.error)
        } completed: { result in
            switch result {
            case .success(let user): completionHandler?(user, nil)
            case .failure(let error): completionHandler?(nil, error)
            }
        }
    }
}
