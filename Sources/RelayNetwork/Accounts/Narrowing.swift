import NATS
import Relay

/// A narrowed grant whose readers may still exist: a consumer outlives its user's rights.
struct Narrowing: Codable, Hashable, Sendable {
    var lost: [String]
    var kept: [String]
}

extension Narrowing {
    init?(from before: AccessRights, to after: AccessRights) {
        let kept = after.subscribe
        let lost = before.subscribe.filter { topic in !kept.contains { SubjectPattern.covers($0, topic) } }
        guard !lost.isEmpty else { return nil }
        self.init(lost: lost, kept: kept)
    }
}

extension NetworkDirectory {
    private var narrowingsFile: String { path + "/narrowings.json" }

    func narrowings() throws(NetworkError) -> [Narrowing] {
        try PrivateFile.readJSON([Narrowing].self, from: narrowingsFile) ?? []
    }

    func remember(_ new: Narrowing) throws(NetworkError) {
        let known = try narrowings()
        if !known.contains(new) { try PrivateFile.writeJSON(known + [new], to: narrowingsFile) }
    }

    func forget(_ ended: Narrowing) throws(NetworkError) {
        let left = try narrowings().filter { $0 != ended }
        guard !left.isEmpty else { return PrivateFile.remove(narrowingsFile) }
        try PrivateFile.writeJSON(left, to: narrowingsFile)
    }
}

extension JetStream {
    /// Deletes all consumers of lost topics and presence, as the server does not know who made them; other users'
    /// readers notice and are made again.
    func endReaders(of narrowing: Narrowing, _ names: NetworkIdentity.Names) async throws(NATSError) {
        try await endReaders(of: narrowing, in: NetworkNames.topicStream(of: names.namespace)) { "\(names.hash).\($0)" }
        try await endReaders(of: narrowing, in: PresenceBucket.stream, PresenceBucket.everybody)
    }

    private func endReaders(
        of narrowing: Narrowing, in stream: String, _ subject: (String) -> String
    ) async throws(NATSError) {
        let (lost, kept) = (narrowing.lost.map(subject), narrowing.kept.map(subject))
        for consumer in try await consumers(in: stream) {
            let filters = consumer.filters.isEmpty ? [">"] : consumer.filters
            let isLost = filters.contains { filter in
                lost.contains { SubjectPattern.overlaps($0, filter) }
                    && !kept.contains { SubjectPattern.covers($0, filter) }
            }
            guard isLost else { continue }
            do throws(NATSError) {
                try await deleteConsumer(consumer.name, in: stream)
            } catch .jetStream(let failure) where failure.code == 404 {
                // It is already gone.
            }
        }
    }
}
