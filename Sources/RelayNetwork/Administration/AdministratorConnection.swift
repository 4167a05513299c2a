import NATS

extension NATSConnection {
    /// A connection for an act of the administrator's.
    static func administrator(at url: String, as credentials: Credentials) async throws(NetworkError) -> NATSConnection
    {
        do throws(NATSError) {
            return try await connect(
                to: ServerAddress(parsing: url),
                options: ConnectOptions(
                    name: "parley administrator", authentication: .init(credentials), connectTimeout: .seconds(10)))
        } catch {
            throw .connection(error)
        }
    }
}
