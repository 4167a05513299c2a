import NATS
import Relay

/// What the servers say of an account's streams, as far as it is shown.
struct StreamStandings: Hashable, Sendable {
    /// Those that are no user's letters.
    var streams: [NetworkReport.Stream] = []
    /// Those of letters, together.
    var postboxes = NetworkReport.Postboxes()
    /// Those of which nobody told but that they are there.
    var missing: [String] = []
    /// Whether the account stores nothing more.
    var isClosed = false
    /// How many more there are, of which nobody told in time.
    var untold = 0

    fileprivate mutating func take(_ page: StreamPage, from server: String) {
        for entry in page.streams ?? [] {
            let stream = entry.stream(of: server)
            if isLetters(stream.name) { postboxes.add(stream) } else { streams.append(stream) }
        }
        for name in page.missing ?? [] {
            if isLetters(name) { postboxes.add(NetworkReport.Stream(name: name)) } else { missing.append(name) }
        }
    }

    private func isLetters(_ stream: String) -> Bool { stream.hasPrefix(NetworkNames.postboxStreamPrefix) }
}

extension JetStream {
    /// What the servers say of all streams: who leads them, who has copies, and what they hold. Servers ask each
    /// stream's leader and wait some seconds for those who do not answer.
    /// - Parameter end: when no further page is asked for.
    func standings(until end: ContinuousClock.Instant) async throws(NATSError) -> StreamStandings {
        var found = StreamStandings()
        found.isClosed = try await accountInfo().limits?.storage == NetworkAccount.closedStorage
        var offset = 0
        repeat {
            let page: StreamPage
            do throws(NATSError) { page = try await call("STREAM.LIST", ["offset": offset]) } catch {
                // What is known is worth telling.
                guard found.untold > 0, case .timeout = error else { throw error }
                return found
            }
            found.take(page, from: connection.info.serverName ?? "")
            let count = (page.streams?.count ?? 0) + (page.missing?.count ?? 0)
            offset += count
            found.untold = count > 0 ? max(offset, page.total ?? 0) - offset : 0
        } while found.untold > 0 && ContinuousClock.now < end
        return found
    }
}

/// A page of the list of streams.
private struct StreamPage: Decodable {
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
            let leader = cluster.map { $0.leader.flatMap { $0.isEmpty ? nil : $0 } } ?? server
            let copies = (cluster?.replicas ?? []).map {
                NetworkReport.Copy(
                    server: $0.name, isCurrent: $0.current, isOffline: $0.offline ?? false, lag: $0.lag?.value ?? 0)
            }
            return NetworkReport.Stream(
                name: config.name, leader: leader, copies: copies.sorted { $0.server < $1.server },
                messages: state.messages.value, bytes: state.bytes.value,
                limit: config.limit.flatMap { $0 > 0 ? $0 : nil })
        }
    }

    var total: Int?
    var streams: [Entry]?
    var missing: [String]?
}
