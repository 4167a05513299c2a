// The calls of RongCloud's SDK, under its names.
extension RelayClient {
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
}
