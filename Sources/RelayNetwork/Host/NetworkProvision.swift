import NATS
import Relay

/// The stream and the buckets that every network has; making them again changes nothing but what the settings say.
struct NetworkProvision: Sendable {
    let jetStream: JetStream
    let names: NetworkIdentity.Names
    let settings: NetworkSettings
    /// Whether the settings are the administrator's own.
    let areBoundsSet: Bool

    /// The bucket that knows every user's postboxes.
    static let postboxes = "relay_postboxes"

    /// Makes what is missing.
    func run() async throws(NATSError) {
        var stream = StreamConfiguration(
            name: NetworkNames.topicStream(of: names.namespace), subjects: ["\(names.hash).>"])
        stream.allowsDirectAccess = true
        stream.duplicateWindow = 120_000_000_000
        stream.discard = .old
        stream.bound(by: settings.topics)
        // Messages that were stored before there were bounds are removed only if bounds have been configured.
        try await jetStream.provide(stream, keepsStored: !areBoundsSet)
        var shared = Self.bucket(names.namespace)
        shared.bound(by: settings.bucket)
        for bucket in [shared, Self.bucket(Self.postboxes)] { try await jetStream.provide(bucket) }
        try await SessionBucket(jetStream: jetStream).provide()
        try await PresenceBucket(jetStream: jetStream).provide()
    }

    /// A bucket as ADR-8 has it, without history. It takes no rollups: with one, the owner of a key could erase all
    /// others.
    static func bucket(_ name: String) -> StreamConfiguration {
        var stream = StreamConfiguration(
            name: NetworkNames.stream(ofBucket: name), subjects: [NetworkNames.key(">", in: name)])
        stream.maximumMessagesPerSubject = 1
        stream.discard = .new
        stream.allowsRollup = false
        stream.deniesDelete = true
        stream.allowsDirectAccess = true
        stream.duplicateWindow = 120_000_000_000
        return stream
    }
}

extension StreamConfiguration {
    /// Takes the bounds of the network's settings.
    mutating func bound(by bounds: NetworkSettings.StreamBounds) {
        maximumBytes = bounds.maximumBytes
        maximumAge = bounds.maximumAge * 1_000_000_000
        maximumMessageSize = bounds.maximumMessageBytes
        maximumConsumers = bounds.maximumConsumers
        // A repetition is not remembered for longer than a message lives.
        if maximumAge != 0, let window = duplicateWindow { duplicateWindow = min(window, maximumAge ?? window) }
    }
}
