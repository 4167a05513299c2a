import NATS

/// On which servers of a cluster a network's streams live, and on how many: a pure value.
public struct NetworkPlacement: Codable, Hashable, Sendable {
    /// How many servers hold a copy of each stream, 1 to 5; an even number survives no more failures than the odd one
    /// before.
    public var replicas: Int
    /// The words (`server_tags`) that each of the servers has to have; none for any server.
    public var tags: [String]
    /// The cluster's name, in a super cluster; nil for any.
    public var cluster: String?

    /// Says where.
    public init(replicas: Int = 1, tags: [String] = [], cluster: String? = nil) {
        self.replicas = replicas
        self.tags = tags
        self.cluster = cluster
    }

    /// What is wrong with it; nil when it can be used.
    var fault: String? {
        if !(1...5).contains(replicas) { return "a stream has 1 to 5 replicas" }
        if (tags + (cluster.map { [$0] } ?? [])).contains(where: { $0.isEmpty || $0.contains(where: \.isWhitespace) }) {
            return "placement tags and clusters are words without blanks"
        }
        return nil
    }
}

extension StreamConfiguration {
    /// Takes the network's placement.
    mutating func place(_ placement: NetworkPlacement) {
        replicas = placement.replicas
        if !placement.tags.isEmpty || placement.cluster != nil {
            self.placement = Placement(cluster: placement.cluster, tags: placement.tags)
        }
    }
}
