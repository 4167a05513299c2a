import NATS

/// What a connection needs (Nexconn's connection parameters).
public final class ConnectParams {
    /// The access token, a bearer JWT.
    public var token: String
    /// Seconds after which connecting is given up; zero or less tries until it succeeds or a reason is final.
    public var timeout = 0

    /// Parameters with a token and no limit.
    public init(token: String) { self.token = token }
}

// The calls of Nexconn's and RongCloud's SDKs, under their names: both tell the outcome by calling back.
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

    /// Opens the local store, then connects with an access token.
    ///
    /// - Parameters:
    ///   - token: a bearer JWT.
    ///   - timeLimit: seconds after which connecting is given up; zero or less tries until it succeeds or a
    ///     reason is final.
    ///   - dbOpened: called once, before the network is touched: ``RongCloudCode/success`` or
    ///     ``RongCloudCode/databaseError``. Not called when the token is refused unseen.
    ///   - success: called with the user once connected; then `error` is not called.
    ///   - error: called with the code of what ended the attempt; then `success` is not called.
    public nonisolated func connect(
        withToken token: String, timeLimit: Int = 0,
        dbOpened: (@Sendable (RongCloudCode) -> Void)? = nil,
        success: (@Sendable (_ userID: String) -> Void)? = nil,
        error: (@Sendable (RongCloudCode) -> Void)? = nil
    ) {
        connect(token: token, timeLimit: timeLimit) { opening in
            dbOpened?(opening.error == nil ? .success : .databaseError)
        } completed: { result in
            switch result {
            case .success(let user): success?(user)
            case .failure(let failure): error?(RongCloudCode(failure))
            }
        }
    }

    /// Opens the store and connects. The client may be released meanwhile, which ends the attempt.
    ///
    /// - Parameters:
    ///   - opened: called once, before the network is touched, unless the token is refused unseen.
    ///   - completed: called exactly once, after `opened`.
    private nonisolated func connect(
        token: String, timeLimit: Int, opened: @escaping @Sendable (LocalStore.Opening) -> Void,
        completed: @escaping @Sendable (Result<String, RelayError>) -> Void
    ) {
        let openings = storeOpenings
        Task { [weak self] in
            do throws(RelayError) {
                guard let outcome = try await self?.beginSigningIn(token: token, timeLimit: timeLimit) else {
                    throw .cancelled
                }
                for await opening in openings {
                    opened(opening)
                    break
                }
                if let error = RelayError(await outcome.value()) { throw error }
                completed(.success(self?.user ?? ""))
            } catch {
                completed(.failure(error))
            }
        }
    }

    private func beginSigningIn(token: String, timeLimit: Int) throws(RelayError) -> Completion<ConnectOutcome> {
        let credentials = try RelayCredentials.accessToken(token)
        // The caller is told who has signed in.
        if credentials.user == nil, configuration.user == nil, let name = credentials.statedName {
            throw .invalidArgument(
                "The token is for “\(name.prefix(64))”, which cannot be a user's name: that has 1 to 64 letters, digits, "
                    + "and characters such as + = - _")
        }
        try use(credentials)
        return try startConnecting(within: Self.limit(timeLimit))
    }
}
