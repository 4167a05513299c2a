import NATS

extension NATSConnection {
    /// A connection for an act of the administrator's, within ten seconds. A server that is changing an account may
    /// leave a login into it unanswered, so one that takes unusually long is tried once more.
    static func administrator(
        at address: ServerAddress, as credentials: Credentials
    ) async throws(NetworkError) -> NATSConnection {
        func connect(within limit: Duration) async throws(NATSError) -> NATSConnection {
            try await NATSConnection.connect(
                to: address,
                options: ConnectOptions(
                    name: "parley administrator", authentication: .init(credentials), connectTimeout: limit))
        }
        do throws(NATSError) {
            do throws(NATSError) {
                return try await connect(within: .seconds(4))
            } catch {
                guard case .timeout = error else { throw error }
                return try await connect(within: .seconds(6))
            }
        } catch {
            throw .connection(error)
        }
    }
}
