import NATS

/// The parameters of a connection (Nexconn's connection parameters).
public final class ConnectParams {
    /// The access token, a bearer JWT.
    public var token: String
    /// Seconds after which connecting is given up; zero or less keeps trying until it succeeds or a reason is final.
    public var timeout = 0

    /// Parameters with a token and no limit.
    public init(token: String) { self.token = token }
}

// The calls of Nexconn's and RongCloud's SDKs, under their names: both report the outcome through callbacks.
extension RelayClient {
    /// Opens the local store, then connects with an access token.
    ///
    /// - Parameters:
    ///   - params: The token and the limit; read before this call returns.
    ///   - databaseOpenedHandler: Called once, before the network is touched: whether the store was created, as at the
    ///     first start and after damage, or why there is none. Not called if the parameters are refused.
    ///   - completionHandler: Called exactly once, with the user or the error: ``RelayError/notInitialized``,
    ///     ``RelayError/alreadyConnected``, ``RelayError/invalidCredentials(_:)``, ``RelayError/invalidArgument(_:)``
    ///     for a token whose user has an invalid name, ``RelayError/connection(_:)``, or ``RelayError/cancelled`` if
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
    ///   - token: A bearer JWT.
    ///   - timeLimit: Seconds after which connecting is given up; zero or less keeps trying until it succeeds or a
    ///     reason is final.
    ///   - dbOpened: Called once, before the network is touched: ``RongCloudCode/success`` or
    ///     ``RongCloudCode/databaseError``. Not called if the token is refused locally.
    ///   - success: Called with the user once connected; then `error` is not called.
    ///   - error: Called with the code of the failure; then `success` is not called.
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

    /// Opens the store and connects. Releasing the client meanwhile ends the attempt.
    ///
    /// - Parameters:
    ///   - opened: Called once, before the network is touched, unless the token is refused locally.
    ///   - completed: Called exactly once, after `opened`.
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
        // The caller is told the user's name, so there must be one.
        if credentials.user == nil, configuration.user == nil, let name = credentials.statedName {
            throw .invalidArgument(
                "The token is for “\(name.prefix(64))”, which cannot be a user's name: that has 1 to 64 letters, digits, "
                    + "and characters such as + = - _")
        }
        try use(credentials)
        return try startConnecting(within: Self.limit(timeLimit))
    }
}
