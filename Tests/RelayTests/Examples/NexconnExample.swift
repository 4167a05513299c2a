import Relay

// The second example of the article "Connecting", word for word.

func connectAsNexconn(
    _ client: RelayClient, token: String, loadAll: @escaping @Sendable () -> Void,
    done: @escaping @Sendable (_ user: String?, _ rawStatus: Int) -> Void
) {
    let params = ConnectParams(token: token)
    params.timeout = 30

    client.connect(params: params) { isRecreated, error in
        if let error {
            print("There is no local store: \(error.words)")
        } else if isRecreated {
            // There was none, or it was damaged: what is needed comes from the network.
            loadAll()
        }
    } completionHandler: { user, error in
        if let error { print("Not connected: \(error.words)") }
        done(user, NexconnConnectionStatus(client.status).rawValue)
    }
}
