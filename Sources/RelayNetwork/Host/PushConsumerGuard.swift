import Logging
import NATS
import NIOConcurrencyHelpers
import Relay

/// Deletes consumers that make JetStream write to subjects of their maker's choice, and those that push letters.
///
/// No permission covers a push consumer's delivery subject, which is in the body of the request. The server delivers to
/// literal subscriptions only, and the network has none; this is a second safeguard. Letters are for their owner, and
/// anything pushed to an inbox reaches everyone who listens to all inboxes.
///
/// It also limits each user's share of consumers and presence entries, as a server does not, and deletes those of
/// banned or deactivated users.
struct PushConsumerGuard: Sendable {
    static let subject = "$JS.EVENT.ADVISORY.API"
    /// Push consumers may deliver topics and buckets here, to the inboxes of clients.
    private static let inboxes = "_INBOX."

    static let ends = "$JS.EVENT.ADVISORY.CONSUMER.DELETED.*.*"
    static let control = NetworkNames.control(of: "*")
    /// How long new consumers of a user who was just shut out are deleted at once: until the connections have ended.
    private static let aftermath = Duration.seconds(10)

    private let jetStream: JetStream
    private let users: UserAccounts
    private let logger: Logger
    private let entries: Int
    private let shares: NIOLockedValueBox<ConsumerShares>
    private let reports, departures, words: NATSSubscription

    init(
        jetStream: JetStream, users: UserAccounts, limits: NetworkSettings.UserLimits, logger: Logger
    ) throws(NATSError) {
        (self.jetStream, self.users, self.logger) = (jetStream, users, logger)
        entries = limits.presenceEntries
        shares = NIOLockedValueBox(ConsumerShares(bound: limits.consumers))
        let limits = BufferLimits(messages: 65_536, bytes: 64 << 20, overflow: .dropOldest)
        reports = try jetStream.connection.subscribe(to: Self.subject, limits: limits)
        departures = try jetStream.connection.subscribe(to: Self.ends, limits: limits)
        words = try jetStream.connection.subscribe(to: Self.control, limits: limits)
    }

    func run() async throws(NATSError) {
        // Reports are read meanwhile, however many consumers there are to check.
        async let earlier: Void = deleteEarlier()
        async let departed: Void = followDepartures()
        async let shut: Void = followBans()
        async let present: Void = watchPresence()
        // A user is logged at most once a minute.
        var named: [UserName: ContinuousClock.Instant] = [:]
        // When a stream's consumers were last compared with the reports.
        var listed: [String: ContinuousClock.Instant] = [:]
        func isDue(_ last: ContinuousClock.Instant?, after pause: Duration) -> Bool {
            last.map { $0.duration(to: .now) > pause } ?? true
        }
        for try await report in reports {
            guard let (made, account) = Self.made(report.bytes) else { continue }
            if Self.isOffender(made) {
                await delete(offender: made)
                continue
            }
            guard let account, let user = await users.user(ofAccount: account) else { continue }
            let now = ContinuousClock.now
            let place = ConsumerShares.Place(stream: made.stream, name: made.name)
            guard shares.withLockedValue({ $0.made(place, by: user, at: now) }) else { continue }
            if isDue(listed[place.stream], after: .seconds(10)) {
                listed[place.stream] = now
                guard await forgetMissing(in: place.stream),
                    shares.withLockedValue({ $0.isBeyond(place, of: user, at: now) })
                else { continue }
            }
            await delete(place)
            if isDue(named[user], after: .seconds(60)) {
                named[user] = now
                logger.notice(
                    "a user exceeds the limit of readers; the newest are deleted",
                    metadata: ["user": "\(user)", "stream": "\(made.stream)"])
            }
        }
        _ = await (earlier, departed, shut, present)
    }

    /// Forgets consumers whose deletion was not reported, as reports can be lost. False if the server does not answer.
    private func forgetMissing(in stream: String) async -> Bool {
        guard let there = try? await jetStream.streamInfo(stream).state.consumers else { return false }
        // The list may lack consumers made from now on.
        let known = shares.withLockedValue { $0.known(in: stream) }
        guard known.count > there else { return true }
        guard let all = try? await jetStream.consumers(in: stream) else { return false }
        let gone = known.subtracting(all.map { .init(stream: stream, name: $0.name) })
        shares.withLockedValue { shares in for place in gone { shares.ended(place) } }
        return true
    }

    private func delete(_ place: ConsumerShares.Place) async {
        // It may already be gone.
        try? await jetStream.deleteConsumer(place.name, in: place.stream)
        shares.withLockedValue { $0.ended(place) }
    }

    private func delete(offender: ConsumerInfo) async {
        logger.notice("a consumer with a forbidden subject is deleted", metadata: ["stream": "\(offender.stream)"])
        await delete(.init(stream: offender.stream, name: offender.name))
    }

    private func followDepartures() async {
        var iterator = departures.makeAsyncIterator()
        while let message = try? await iterator.next(isolation: nil) {
            let tokens = message.subject.split(separator: ".").map(String.init)
            guard tokens.count == 7 else { continue }
            shares.withLockedValue { $0.ended(.init(stream: tokens[5], name: tokens[6])) }
        }
    }

    /// Deletes the consumers and presence of users who are shut out. Only the administrator can publish here.
    private func followBans() async {
        var iterator = words.makeAsyncIterator()
        while let message = try? await iterator.next(isolation: nil) {
            guard let kind = (try? JSONText.parse(bytes: message.bytes))?["kind"]?.stringValue,
                kind == "banned" || kind == "deactivated",
                let user = try? UserName(String(message.subject.split(separator: ".").last ?? ""))
            else { continue }
            let until = ContinuousClock.now + Self.aftermath
            let own = shares.withLockedValue { $0.shut(user, until: until) }
            for place in own { await delete(place) }
            await purgePresence(of: user.key)
            logger.info(
                "a user is shut out; all readers and presence entries are deleted",
                metadata: ["user": "\(user)", "kind": "\(kind)", "readers": "\(own.count)"])
        }
    }

    private func watchPresence() async {
        while !Task.isCancelled {
            do { try await Task.sleep(for: .milliseconds(500)) } catch { return }
            for key in (try? await crowds()) ?? [] {
                await purgePresence(of: key)
                logger.notice(
                    "a user exceeds the limit of presence entries; all are deleted", metadata: ["user": "\(key)"]
                )
            }
        }
    }

    /// The users with too many entries, as written in the bucket's keys.
    private func crowds() async throws(NATSError) -> [String] {
        let stream = PresenceBucket.stream
        guard try await jetStream.streamInfo(stream).state.messages > UInt64(entries) else { return [] }
        let subjects = try await jetStream.streamInfo(stream, subjectsFilter: ">").state.subjects ?? [:]
        var counts: [Substring: Int] = [:]
        for subject in subjects.keys {
            let tokens = subject.split(separator: ".", maxSplits: 3)
            if tokens.count == 4 { counts[tokens[2], default: 0] += 1 }
        }
        return counts.filter { $0.value > entries }.map { String($0.key) }
    }

    private func purgePresence(of key: String) async {
        _ = try? await jetStream.purgeStream(
            PresenceBucket.stream, filter: NetworkNames.key("\(key).>", in: PresenceBucket.name))
    }

    /// Checks the existing consumers, and starts over if the server does not answer.
    private func deleteEarlier() async {
        while !Task.isCancelled {
            do throws(NATSError) {
                for stream in try await jetStream.streamNames() {
                    do throws(NATSError) {
                        for consumer in try await jetStream.consumers(in: stream) where Self.isOffender(consumer) {
                            await delete(offender: consumer)
                        }
                    } catch .jetStream(let failure) where failure.errorCode == JetStreamFailure.streamNotFound {
                        // Its user was removed meanwhile.
                    }
                }
                return
            } catch {
                try? await Task.sleep(for: .seconds(1))
            }
        }
    }

    static func isOffender(_ consumer: ConsumerInfo) -> Bool {
        guard let target = consumer.deliverSubject, !target.isEmpty else { return false }
        return !target.hasPrefix(inboxes) || consumer.stream.hasPrefix(NetworkNames.postboxStreamPrefix)
    }

    /// The consumer that was made, taken from the response in a report, and the account that made it.
    static func made(_ report: [UInt8]) -> (consumer: ConsumerInfo, account: String?)? {
        guard let report = try? JSONText.parse(bytes: report), let call = report["subject"]?.stringValue,
            call.hasPrefix("$JS.API.CONSUMER."), call.contains(".CREATE."),
            let response = report["response"]?.stringValue,
            let made = Wire.value(ConsumerInfo.self, from: response.utf8)
        else { return nil }
        return (made, report["client"]?["acc"]?.stringValue)
    }
}

/// Which user made which consumers since the host began to watch, and which exceed the user's share. A server limits a
/// stream's consumers, not a user's; its reports name the account of each call.
struct ConsumerShares: Sendable {
    struct Place: Hashable, Sendable {
        var stream: String
        var name: String
    }

    let bound: Int
    private var owners: [Place: UserName] = [:]
    private var owned: [UserName: Set<Place>] = [:]
    private var out: [UserName: ContinuousClock.Instant] = [:]

    init(bound: Int) { self.bound = bound }

    /// Records a consumer that was made, or changed by someone who knows its name. Returns whether it must be deleted.
    mutating func made(_ place: Place, by user: UserName, at now: ContinuousClock.Instant) -> Bool {
        if owners[place] == nil {
            owners[place] = user
            owned[user, default: []].insert(place)
        }
        return isBeyond(place, of: user, at: now)
    }

    mutating func isBeyond(_ place: Place, of user: UserName, at now: ContinuousClock.Instant) -> Bool {
        guard let all = owned[user], all.contains(place) else { return false }
        if let until = out[user] {
            if now < until { return true }
            out[user] = nil
        }
        return all.count > bound && all.count { $0.stream == place.stream } > bound
    }

    func known(in stream: String) -> Set<Place> { Set(owners.keys.filter { $0.stream == stream }) }

    mutating func ended(_ place: Place) {
        guard let user = owners.removeValue(forKey: place) else { return }
        owned[user]?.remove(place)
        if owned[user]?.isEmpty == true { owned[user] = nil }
    }

    mutating func shut(_ user: UserName, until: ContinuousClock.Instant) -> [Place] {
        out[user] = until
        return Array(owned[user] ?? [])
    }
}
