import NATS
import Relay

/// The streams and buckets of a network. ``StreamDifference`` compares them with a server's.
struct NetworkPlan: Codable, Hashable, Sendable {
    let names: NetworkIdentity.Names
    let settings: NetworkSettings
    var placement: NetworkPlacement?

    static let postboxes = "relay_postboxes"
    /// The bucket of users, for services without access to the network's folder.
    static let users = "relay_users"

    var topics: StreamConfiguration {
        messages(
            NetworkNames.topicStream(of: names.namespace), ["\(names.hash).>"], discard: .old, bounds: settings.topics)
    }

    var buckets: [StreamConfiguration] {
        var shared = Self.bucket(names.namespace)
        shared.bound(by: settings.bucket)
        let all = [shared, Self.bucket(Self.postboxes), SessionBucket.configuration, PresenceBucket.configuration]
        return (placement == nil ? all : all + [Self.bucket(Self.users)]).map(placed)
    }

    var streams: [StreamConfiguration] { [topics] + buckets }

    func letters(of user: UserName, in register: PostboxRegister) -> StreamConfiguration {
        var stream = messages(
            user.postboxStream, register.subjects(of: user), discard: .new, bounds: settings.postboxes)
        stream.maximumMessages = settings.maximumLetters
        return stream
    }

    private func messages(
        _ name: String, _ subjects: [String], discard: StreamConfiguration.Discard, bounds: NetworkSettings.StreamBounds
    ) -> StreamConfiguration {
        var stream = StreamConfiguration(name: name, subjects: subjects)
        stream.allowsDirectAccess = true
        stream.duplicateWindow = 120_000_000_000
        stream.discard = discard
        stream.bound(by: bounds)
        return placed(stream)
    }

    private func placed(_ stream: StreamConfiguration) -> StreamConfiguration {
        guard let placement else { return stream }
        var stream = stream
        stream.replicas = placement.replicas
        if !placement.tags.isEmpty || placement.cluster != nil {
            stream.placement = .init(cluster: placement.cluster, tags: placement.tags)
        }
        return stream
    }

    /// A bucket as in ADR-8, without history, and without rollups: a key's owner could erase all others with one.
    static func bucket(_ name: String) -> StreamConfiguration {
        var stream = StreamConfiguration(
            name: NetworkNames.stream(ofBucket: name), subjects: [NetworkNames.key(">", in: name)])
        stream.maximumMessagesPerSubject = 1
        stream.discard = .new
        stream.allowsRollup = false
        stream.deniesDelete = true
        stream.allowsDirectAccess = true
        stream.duplicateWindow = 120_000_000_000
        // A 2.15 server's default is 1,000, but each client with an exclusive session has one.
        stream.maximumConsumers = 20_000
        return stream
    }

    /// A bucket whose keys expire 90 s after they were last written.
    static func passingBucket(_ name: String, bytes: Int64) -> StreamConfiguration {
        var stream = bucket(name)
        (stream.maximumAge, stream.duplicateWindow) = (90 * 1_000_000_000, 90 * 1_000_000_000)
        stream.maximumBytes = bytes
        return stream
    }
}

extension StreamConfiguration {
    mutating func bound(by bounds: NetworkSettings.StreamBounds) {
        maximumBytes = bounds.maximumBytes
        maximumAge = bounds.maximumAge * 1_000_000_000
        maximumMessageSize = bounds.maximumMessageBytes
        maximumConsumers = bounds.maximumConsumers
        // Duplicates are not remembered for longer than a message lives.
        if maximumAge != 0, let window = duplicateWindow { duplicateWindow = min(window, maximumAge ?? window) }
    }
}

/// Which of a cluster's servers have a network's streams, and how many copies there are.
public struct NetworkPlacement: Codable, Hashable, Sendable {
    /// The number of copies of each stream, 1 to 5; an even number survives no more failures than the odd one below.
    public var replicas: Int
    /// The tags (`server_tags`) that each of the servers must have; empty for any server.
    public var tags: [String]
    /// The cluster's name, in a super cluster; nil for any.
    public var cluster: String?

    /// Makes a placement.
    public init(replicas: Int = 1, tags: [String] = [], cluster: String? = nil) {
        (self.replicas, self.tags, self.cluster) = (replicas, tags, cluster)
    }

    var fault: String? {
        if !(1...5).contains(replicas) { return "a stream has 1 to 5 replicas" }
        if (tags + (cluster.map { [$0] } ?? [])).contains(where: { $0.isEmpty || $0.contains(where: \.isWhitespace) }) {
            return "placement tags and clusters are words without blanks"
        }
        return nil
    }
}

/// The presence bucket: an entry for each user, device and topic, which expires 90 s after its owner last wrote it. It
/// is in memory, as it is worthless after a restart.
///
/// An entry's key is `<user>.<device>.<topic>`, since imports can only tell subjects apart: a user's account writes
/// below its own name, and reads others' entries in a granted topic. One key per user with a list of topics would
/// reveal all of them. Clients enter only the last few topics that their user viewed, to write little.
enum PresenceBucket {
    static let name = NetworkNames.presence
    static let stream = NetworkNames.stream(ofBucket: name)

    static var configuration: StreamConfiguration {
        // Old entries give way, so that no one can keep others out by filling it; clients renew theirs within 30 s, and
        // the host purges the entries of whoever fills it.
        var stream = NetworkPlan.passingBucket(name, bytes: 64 << 20)
        stream.storage = .memory
        stream.discard = .old
        // The largest entry with its subject and headers: a short status text.
        stream.maximumMessageSize = 2_048
        return stream
    }

    static func own(_ user: UserName, in topic: String) -> String {
        NetworkNames.key("\(user.key).*.\(topic)", in: name)
    }

    static func everybody(in topic: String) -> String { NetworkNames.key("*.*.\(topic)", in: name) }
}

/// The bucket of exclusive sessions: a key for each user, which expires 90 s after its owner last wrote it, so that a
/// session whose owner died does not keep other devices out for long. Owners renew theirs every 30 s.
enum SessionBucket {
    static let name = NetworkNames.sessions
    static let configuration = NetworkPlan.passingBucket(name, bytes: 16 << 20)
}
