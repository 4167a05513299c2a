/// The users in a topic, as a value: entries in, users out. The caller provides the time.
///
/// An entry counts for ``lifetime`` after it was written. That does not rely on the network's clocks: an entry that
/// arrives while the topic is watched has just been written, and existing ones are as much older as the server's times
/// of writing differ. The same goes for typing, which counts for ``PresencePolicy/typingLifetime``.
struct PresenceTable: Sendable {
    /// An entry as it arrives from the network.
    struct Item: Sendable {
        var entry: PresenceEntry
        /// When the server stored it, in nanoseconds since 1970.
        var time: Int64
        /// Whether it existed before the topic was watched.
        var isListed: Bool
    }

    private struct Device: Sendable {
        var presence: Presence
        var until: ContinuousClock.Instant
        /// Until when its user counts as typing; nil if the entry does not report that.
        var typingUntil: ContinuousClock.Instant?
    }

    /// The most entries; further ones are not shown.
    static let entryLimit = 5_000
    /// The most devices of one user; the oldest one gives way.
    static let deviceLimit = 8

    /// How long an entry counts.
    let lifetime: Duration
    private var users: [String: [String: Device]] = [:]
    private var count = 0
    private var isTruncated = false
    /// The newest time of writing among the existing entries.
    private var newestListed = Int64.min
    private var isKnown = false

    init(lifetime: Duration) { self.lifetime = lifetime }

    var roster: PresenceRoster {
        guard isKnown else { return .unknown }
        let present = users.map { name, devices in
            PresentUser(
                name: name, presence: Self.presence(of: devices),
                isTyping: devices.values.contains { $0.typingUntil != nil })
        }
        return PresenceRoster(users: present.sorted { $0.name < $1.name }, isTruncated: isTruncated)
    }

    /// When the first entry, or the first user's typing, expires; nil if there is none.
    var nextExpiry: ContinuousClock.Instant? {
        users.values.lazy.flatMap(\.values).map { device in
            device.typingUntil.map { min($0, device.until) } ?? device.until
        }.min()
    }

    /// The topic is watched from now on, without earlier entries.
    mutating func opened() {
        self = PresenceTable(lifetime: lifetime)
        isKnown = true
    }

    /// The connection is gone, and with it all entries.
    mutating func closed() { self = PresenceTable(lifetime: lifetime) }

    mutating func take(_ items: [Item], at now: ContinuousClock.Instant) {
        for item in items where item.isListed { newestListed = max(newestListed, item.time) }
        for item in items {
            let (user, device) = (item.entry.user, item.entry.device)
            guard let presence = item.entry.presence else {
                remove(device, of: user)
                continue
            }
            // If a server's clock was set back, ages are still never negative.
            let age = item.isListed ? max(0, newestListed.subtractingReportingOverflow(item.time).partialValue) : 0
            let until = now + lifetime - .nanoseconds(age)
            guard until > now else {
                remove(device, of: user)
                continue
            }
            let typingUntil = now + PresencePolicy.typingLifetime - .nanoseconds(age)
            let isTyping = item.entry.isTyping && typingUntil > now
            insert(
                Device(presence: presence, until: until, typingUntil: isTyping ? typingUntil : nil), device, of: user)
        }
    }

    mutating func expire(at now: ContinuousClock.Instant) {
        for (user, devices) in users {
            for (name, device) in devices {
                if device.until <= now {
                    remove(name, of: user)
                } else if let typingUntil = device.typingUntil, typingUntil <= now {
                    users[user]?[name]?.typingUntil = nil
                }
            }
        }
    }

    private mutating func insert(_ new: Device, _ name: String, of user: String) {
        var devices = users[user] ?? [:]
        if devices[name] == nil {
            if devices.count >= Self.deviceLimit,
                let oldest = devices.min(by: { $0.value.until < $1.value.until })?.key
            {
                devices[oldest] = nil
                count -= 1
            } else if count >= Self.entryLimit {
                isTruncated = true
                return
            }
            count += 1
        }
        devices[name] = new
        users[user] = devices
    }

    private mutating func remove(_ device: String, of user: String) {
        guard users[user]?.removeValue(forKey: device) != nil else { return }
        count -= 1
        if users[user]?.isEmpty == true { users[user] = nil }
        // Users who were left out are added with their next entry.
        isTruncated = false
    }

    private static func presence(of devices: [String: Device]) -> Presence {
        if devices.values.contains(where: { $0.presence == .here }) { return .here }
        return devices.values.max { $0.until < $1.until }?.presence ?? .here
    }
}
