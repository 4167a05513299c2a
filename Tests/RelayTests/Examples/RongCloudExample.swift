import Relay

// The third example of the article "Connecting", word for word.

func connectAsRongCloud(
    _ client: RelayClient, token: String, databaseOpened: @escaping @Sendable (_ isRecreated: Bool) -> Void,
    done: @escaping @Sendable (_ outcome: String) -> Void
) {
    // The handler below hears whether the store opens; whether it was made anew, the client tells.
    Task { [openings = client.storeOpenings] in
        for await opening in openings where opening.error == nil {
            // True where there was none, or it was damaged: what is needed comes from the network.
            return databaseOpened(opening.isRecreated)
        }
    }
    client.connect(withToken: token, timeLimit: 30) { code in
        // The screen can show what is kept, whatever becomes of the connection.
        if code != .success { print("The local store does not open: \(code.rawValue)") }
    } success: { user in
        done("welcome, \(user)")
    } error: { code in
        switch code {
        case .tokenIncorrect, .tokenExpired: done("ask the application's server for a new token")
        case .connectTimeout: done("no connection within 30 seconds; try again when the network is better")
        default: done("no connection: \(code.rawValue)")
        }
    }
}
