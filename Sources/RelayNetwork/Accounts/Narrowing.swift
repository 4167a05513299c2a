import NATS
import Relay

/// A grant that was narrowed, and whose readers may still be there: a consumer outlives its user's rights.
struct Narrowing: Codable, Hashable, Sendable {
    var lost: [String]
    var kept: [String]
}

extension NetworkDirectory {
    private var narrowingsFile: String { path + "/narrowings.json" }

    /// The grants that were narrowed and whose readers no server has ended yet.
    func narrowings() throws(NetworkError) -> [Narrowing] {
        try PrivateFile.readJSON([Narrowing].self, from: narrowingsFile) ?? []
    }

    /// Keeps a narrowed grant until a server has ended its readers.
    func remember(_ new: Narrowing) throws(NetworkError) {
        let known = try narrowings()
        if !known.contains(new) { try PrivateFile.writeJSON(known + [new], to: narrowingsFile) }
    }

    func forgetNarrowings() { PrivateFile.remove(narrowingsFile) }
}

extension JetStream {
    /// Deletes the consumers that read what a user may read no more of the topics: their messages, and who is there.
    func endReaders(of narrowing: Narrowing, _ names: NetworkIdentity.Names) async throws(NATSError) {
        func subjects(_ topics: [String]) -> [String] { topics.map { "\(names.hash).\($0)" } }
        try await endReaders(
            in: NetworkNames.topicStream(of: names.namespace), of: subjects(narrowing.lost),
            besides: subjects(narrowing.kept))
        try await endReaders(
            in: PresenceBucket.stream, of: narrowing.lost.map(PresenceBucket.everybody),
            besides: narrowing.kept.map(PresenceBucket.everybody))
    }

    /// Deletes the consumers that read subjects which a user has lost. The server does not know which user made which
    /// consumer; the readers of other users notice and make theirs anew.
    func endReaders(in stream: String, of lost: [String], besides kept: [String]) async throws(NATSError) {
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
                // It has gone by itself.
            }
        }
    }
}
