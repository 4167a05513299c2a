import NATS
import Relay

extension JetStream {
    /// What the servers say of all streams: who leads them, who has copies, and what they hold. Servers ask each
    /// stream's leader and wait some seconds for those who do not answer.
    /// - Parameter end: when no further page is asked for.
    func standings(until end: ContinuousClock.Instant) async throws(NATSError) -> StreamStandings {
        var found = StreamStandings()
        found.isClosed = try await accountInfo().limits?.storage == NetworkAccount.closedStorage
        var offset = 0
        while true {
            let page: StreamPage
            do throws(NATSError) { page = try await call("STREAM.LIST", StreamPage.Request(offset: offset)) } catch {
                // What is known is worth telling.
                guard found.untold > 0, case .timeout = error else { throw error }
                return found
            }
            for entry in page.streams ?? [] {
                found.take(entry.stream(of: connection.info.serverName ?? ""))
            }
            for name in page.missing ?? [] { found.take(missing: name) }
            let count = (page.streams?.count ?? 0) + (page.missing?.count ?? 0)
            offset += count
            found.untold = count > 0 ? max(offset, page.total ?? 0) - offset : 0
            guard found.untold > 0, ContinuousClock.now < end else { return found }
        }
    }
}

extension StreamStandings {
    fileprivate mutating func take(_ stream: NetworkReport.Stream) {
        guard stream.name.hasPrefix(NetworkNames.postboxStreamPrefix) else { return streams.append(stream) }
        postboxes.add(stream)
    }

    fileprivate mutating func take(missing name: String) {
        guard name.hasPrefix(NetworkNames.postboxStreamPrefix) else { return missing.append(name) }
        postboxes.add(NetworkReport.Stream(name: name))
    }
}

/// A page of the list of streams.
private struct StreamPage: Decodable {
    struct Request: Encodable {
        /// How many streams the pages before this one had.
        var offset: Int
    }

    struct Entry: Decodable {
        struct Configuration: Decodable {
            var name: String
            var limit: Int64?

            private enum CodingKeys: String, CodingKey {
                case name
                case limit = "max_bytes"
            }
        }
        struct State: Decodable {
            var messages: ServerNumber
            var bytes: ServerNumber
        }
        struct Copy: Decodable {
            var name: String
            var current: Bool
            var offline: Bool?
            var lag: ServerNumber?
        }
        struct Group: Decodable {
            var leader: String?
            var replicas: [Copy]?
        }
        var config: Configuration
        var state: State
        var cluster: Group?

        /// - Parameter server: who told it; alone it leads all that it has, and does not say so.
        func stream(of server: String) -> NetworkReport.Stream {
            var stream = NetworkReport.Stream(name: config.name)
            stream.leader = cluster.map { $0.leader.flatMap { $0.isEmpty ? nil : $0 } } ?? server
            stream.copies = (cluster?.replicas ?? []).map {
                .init(server: $0.name, isCurrent: $0.current, isOffline: $0.offline ?? false, lag: $0.lag?.value ?? 0)
            }.sorted { $0.server < $1.server }
            (stream.messages, stream.bytes) = (state.messages.value, state.bytes.value)
            stream.limit = config.limit.flatMap { $0 > 0 ? $0 : nil }
            return stream
        }
    }

    var total: Int?
    var streams: [Entry]?
    var missing: [String]?
}
