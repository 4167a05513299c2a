import NATS

extension NATSConnection {
    /// A connection for an act of the administrator's.
    static func administrator(
        at address: ServerAddress, as credentials: Credentials
    ) async throws(NetworkError) -> NATSConnection {
        do throws(NATSError) {
            return try await connect(
                to: address,
                options: ConnectOptions(
                    name: "parley administrator", authentication: .init(credentials), connectTimeout: .seconds(10)))
        } catch {
            throw .connection(error)
        }
    }
}
