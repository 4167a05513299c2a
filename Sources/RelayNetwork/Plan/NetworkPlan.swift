import NATS
import Relay

/// What a network consists of: its streams and buckets. ``StreamDifference`` compares them with a server's.
struct NetworkPlan: Codable, Hashable, Sendable {
    let names: NetworkIdentity.Names
    let settings: NetworkSettings
    var placement: NetworkPlacement?

    static let postboxes = "relay_postboxes"
    /// The bucket that knows the users, where the services have no folder of the network's to look into.
    static let users = "relay_users"

    var topics: StreamConfiguration {
        messages(
            NetworkNames.topicStream(of: names.namespace), ["\(names.hash).>"], discard: .old, bounds: settings.topics)
    }

    /// The buckets: the one of all users, the registers of postboxes, exclusive sessions, and who is here.
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

    /// A bucket as ADR-8 has it, without history, and without rollups: by one, a key's owner could erase all others.
    static func bucket(_ name: String) -> StreamConfiguration {
        var stream = StreamConfiguration(
            name: NetworkNames.stream(ofBucket: name), subjects: [NetworkNames.key(">", in: name)])
        stream.maximumMessagesPerSubject = 1
        stream.discard = .new
        stream.allowsRollup = false
        stream.deniesDelete = true
        stream.allowsDirectAccess = true
        stream.duplicateWindow = 120_000_000_000
        // A server of 2.15 allows 1,000 where nothing is said: each client with an exclusive session has one.
        stream.maximumConsumers = 20_000
        return stream
    }

    /// A bucket of keys that are gone 90 s after they were last written.
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
        // A repetition is not remembered for longer than a message lives.
        if maximumAge != 0, let window = duplicateWindow { duplicateWindow = min(window, maximumAge ?? window) }
    }
}

/// On which servers of a cluster a network's streams live, and on how many.
public struct NetworkPlacement: Codable, Hashable, Sendable {
    /// How many servers hold a copy of each stream, 1 to 5; an even number survives no more than the odd one before.
    public var replicas: Int
    /// The words (`server_tags`) that each of the servers has to have; none for any server.
    public var tags: [String]
    /// The cluster's name, in a super cluster; nil for any.
    public var cluster: String?

    /// Says where.
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

/// The bucket of who is here: an entry for each user, device and topic, gone 90 s after its owner last wrote it. It is
/// in memory, for it is worth nothing after a restart.
///
/// An entry's key is `<user>.<device>.<topic>`, since subjects are all that an import can tell apart: a user's account
/// writes below the own name alone, and reads of the others what ends in a topic that it was granted. One key for each
/// user, with a list of topics as its value, would tell those who may read it of every topic in the list. So that a
/// user of thousands of topics does not write thousands of entries each half minute, clients enter a bounded number of
/// topics, the latest that their person looked at.
enum PresenceBucket {
    static let name = NetworkNames.presence
    static let stream = NetworkNames.stream(ofBucket: name)

    static var configuration: StreamConfiguration {
        // Old entries give way, so that nobody keeps others out by filling it; who is here writes the own again within
        // 30 s, and the host empties it of whoever does.
        var stream = NetworkPlan.passingBucket(name, bytes: 64 << 20)
        stream.storage = .memory
        stream.discard = .old
        // The largest entry with its subject and headers: a short text about where somebody is.
        stream.maximumMessageSize = 2_048
        return stream
    }

    static func own(_ user: UserName, in topic: String) -> String {
        NetworkNames.key("\(user.key).*.\(topic)", in: name)
    }

    static func everybody(in topic: String) -> String { NetworkNames.key("*.*.\(topic)", in: name) }
}

/// The bucket of exclusive sessions: a key for each user, gone 90 s after its owner last wrote it, so that a session
/// whose owner died without releasing it does not keep other devices out for long. Owners write theirs every 30 s.
enum SessionBucket {
    static let name = NetworkNames.sessions
    static let configuration = NetworkPlan.passingBucket(name, bytes: 16 << 20)
}
