import Relay

// The second example of the article "Connecting", word for word.

func connectAsNexconn(
    _ client: RelayClient, token: String, done: @escaping @Sendable (_ user: String?, _ rawStatus: Int) -> Void
) {
    let params = ConnectParams(token: token)
    params.timeout = 30

    client.connect(params: params) { isRecreated, error in
        if let error {
            print("There is no local store: \(error.words)")
        } else if isRecreated {
            print("The local store was damaged and is empty now; load what is needed from the network.")
        }
    } completionHandler: { user, error in
        if let error { print("Not connected: \(error.words)") }
        done(user, NexconnConnectionStatus(client.status).rawValue)
    }
}
