import NATS

// From the wish for a connection to a login.
extension LiveLink {
    /// Dials, once the local store is open and the connection before has said its last words.
    func dial(
        behind opening: Task<LocalStore?, Never>, _ farewell: Task<Void, Never>?, _ limits: RelayClient.Limits
    ) {
        start { link in
            // The local store comes before the first byte on the network.
            _ = await opening.value
            await farewell?.value
            if let tokenRequest = await link.inClient({ $0.missingCredentials() }) ?? nil,
                await !tokenRequest.wait(limits.provider, link.surroundings.clock)
            {
                return await link.dialFailed(.invalidCredentials("the token provider gave none"))
            }
            guard let (source, hasExpired) = await link.inClient({ ($0.configuration.servers, $0.hasExpiredToken) })
            else { return }
            if hasExpired { return await link.dialFailed(.tokenExpired) }
            await link.dial(link.servers(source, limits.discovery))
        }
    }

    private func dialFailed(_ reason: ConnectionReason) async {
        await inClient { [generation] in $0.handle(.connectionFailed(generation: generation, reason: reason)) }
    }

    private func servers(
        _ source: RelayConfiguration.Servers, _ limit: Duration
    ) async -> Result<[ServerAddress], RelayError> {
        switch source {
        case .fixed(let servers): return .success(servers)
        case .discovered(let discover):
            let found = await within(limit, surroundings.clock) { () -> Result<[ServerAddress], RelayError> in
                do throws(RelayError) { return .success(try await discover()) } catch { return .failure(error) }
            }
            return found ?? .failure(.timeout("Finding the servers"))
        }
    }

    private func dial(_ servers: Result<[ServerAddress], RelayError>) async {
        let address: ServerAddress
        switch servers {
        case .failure(.connection(let reason)): return await dialFailed(reason)
        case .failure(let error): return await dialFailed(.unreachable(error.words))
        case .success(let servers):
            guard let next = await inClient({ $0.nextServer(of: servers) }) else { return }
            guard let next else { return await dialFailed(.unreachable("no server is known")) }
            address = next
        }
        guard let options = await inClient({ $0.connectOptions }) else { return }
        let connection: NATSConnection
        do throws(NATSError) {
            connection = try await surroundings.dial(address, options)
        } catch {
            await inClient { [generation] in $0.dialFailed(error, to: address, generation: generation) }
            return
        }
        // A dial that is no longer waited for closes its socket.
        guard adopt(connection) else { return connection.closeNow() }
        guard await inClient({ $0.dialSucceeded(self, connection, to: address) }) != nil else {
            return connection.closeNow()
        }
    }
}
