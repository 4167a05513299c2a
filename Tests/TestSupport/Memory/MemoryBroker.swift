import NATS
import NIOCore

/// What the server knows and decides, as a value: what clients send goes in, what they are to be sent comes out. It has
/// no sockets and no clock.
struct MemoryBroker: Sendable {
    /// Something that happened to a connection.
    enum Event: Sendable {
        case joined(Int)
        case sent(Int, [ClientOperation])
        case left(Int)
    }

    /// Bytes for a connection, and whether it is closed behind them.
    struct Output: Sendable {
        var link: Int
        var bytes: ByteBuffer
        var isLast: Bool
    }

    /// A request that one of the server's own services is to answer.
    struct Call: Sendable {
        var handler: MemoryServer.Handler
        var payload: [UInt8]
        var reply: String?
    }

    /// What is to be done outside of this value.
    struct Work: Sendable {
        var outputs: [Output] = []
        var calls: [Call] = []
    }

    struct LoginRefusal: Sendable {
        var text: String
        var isRefused: @Sendable (MemoryServer.Login) -> Bool
    }

    /// What goes wrong on purpose.
    struct Faults: Sendable {
        var dialRefusal: NATSError?
        var loginRefusal: LoginRefusal?
        var isSilent = false
        var holdsAcknowledgements = false
        var numbers: [String: String] = [:]
        /// By the beginning and the end of the subjects that they are for.
        var failures: [SubjectEnds: MemoryServer.Failure] = [:]
    }

    struct SubjectEnds: Hashable, Sendable {
        var prefix: String
        var suffix: String

        var length: Int { prefix.utf8.count + suffix.utf8.count }
    }

    private struct Service: Sendable {
        var pattern: SubjectPattern
        var handler: MemoryServer.Handler
    }

    /// So many of the subjects that clients published to are remembered.
    private static let maximumReceived = 1 << 16

    let apiPrefixes: [String]
    var info = MemoryServer.Info()
    var faults = Faults()
    var streams: [String: MemoryStream] = [:]
    private(set) var now: Int64
    private(set) var links: [Int: MemoryLink] = [:]
    private(set) var dialCount = 0
    private(set) var loginCount = 0
    private(set) var lastLogin: MemoryServer.Login?
    private(set) var received: [String] = []
    private(set) var index = SubscriptionIndex()
    /// How many messages a subscription has had, and after how many it ends.
    private var counts: [SubscriptionKey: Int] = [:]
    private var limits: [SubscriptionKey: Int] = [:]
    private var services: [String: Service] = [:]
    private var calls: [Call] = []
    /// What has happened while the server was halted.
    private var held: [Event] = []
    private var lastStamp: Int64 = 0
    /// Whose turn it is in queue groups.
    private var turn = 0
    private var due: Int64?

    init(apiPrefixes: [String], at now: Int64) {
        self.apiPrefixes = apiPrefixes
        self.now = now
    }

    // MARK: Events

    /// Counts an attempt to connect, and says why it fails where it is to.
    mutating func dial() -> NATSError? {
        dialCount += 1
        return faults.dialRefusal
    }

    mutating func handle(_ event: Event) {
        if case .joined(let number) = event { links[number] = MemoryLink(number: number) }
        if faults.isSilent {
            held.append(event)
        } else {
            carryOut(event)
        }
    }

    /// Halts, or goes on with what has come meanwhile.
    mutating func setSilent(_ isSilent: Bool) {
        faults.isSilent = isSilent
        guard !isSilent else { return }
        let events = held
        held = []
        for event in events { carryOut(event) }
        advance(to: now)
    }

    private mutating func carryOut(_ event: Event) {
        switch event {
        case .joined(let number): links[number]?.write(info.line(client: number))
        case .sent(let number, let operations):
            for operation in operations { carryOut(operation, from: number) }
        case .left(let number):
            links[number] = nil
            for key in index.entries.keys where key.link == number { unsubscribe(key) }
        }
    }

    private mutating func carryOut(_ operation: ClientOperation, from number: Int) {
        guard links[number]?.isEnding == false else { return }
        switch operation {
        case .connect(let json): logIn(number, json)
        case .ping: links[number]?.write("PONG\r\n")
        case .pong: break
        case .subscribe(let subject, let queue, let text):
            subscribe(SubscriptionKey(link: number, number: text), to: subject, queue: queue)
        case .unsubscribe(let text, let maximum):
            let key = SubscriptionKey(link: number, number: text)
            guard index.entries[key] != nil else { return }
            limits[key] = maximum
            if counts[key] ?? 0 >= maximum ?? 0 { unsubscribe(key) }
        case .publish(let frame):
            guard frame.size <= info.maximumPayload else { return refuse(number, "Maximum Payload Violation") }
            publish(frame, from: number)
        case .invalid(let words): refuse(number, words)
        }
    }

    /// Says why, and closes.
    private mutating func refuse(_ number: Int, _ words: String) {
        links[number]?.write("-ERR '\(words)'\r\n")
        links[number]?.end()
    }

    private mutating func logIn(_ number: Int, _ json: [UInt8]) {
        guard let fields = JSON(json) else { return refuse(number, "Authorization Violation") }
        let login = MemoryServer.Login(fields)
        loginCount += 1
        lastLogin = login
        if let refusal = faults.loginRefusal, refusal.isRefused(login) { return refuse(number, refusal.text) }
        links[number]?.loggedIn(fields)
    }

    private mutating func subscribe(_ key: SubscriptionKey, to subject: String, queue: String?) {
        let pattern = SubjectPattern(subject)
        guard pattern.isValid else {
            links[key.link]?.write("-ERR 'Invalid Subject'\r\n")
            return
        }
        index.add(key, SubscriptionIndex.Entry(pattern: pattern, queue: queue))
    }

    private mutating func unsubscribe(_ key: SubscriptionKey) {
        index.remove(key)
        counts[key] = nil
        limits[key] = nil
    }

    // MARK: Messages

    /// Brings a message to everybody whom it is for.
    ///
    /// - Parameter sender: the connection it came over; nil for the server's own.
    /// - Returns: its sequence, where a stream has stored it.
    @discardableResult
    mutating func publish(_ frame: MemoryFrame, from sender: Int?) -> UInt64? {
        // Wildcards are allowed: the name of a call that makes a consumer ends in the consumer's filter.
        guard SubjectPattern(frame.subject).isValid else { return nil }
        if let sender {
            received.append(frame.subject)
            if received.count > Self.maximumReceived { received.removeFirst(Self.maximumReceived / 2) }
            if let failure = fault(for: frame.subject) {
                fail(frame, failure, sender)
                return nil
            }
        }
        var isHeard = deliver(frame, to: frame.subject, from: sender)
        var sequence: UInt64?
        if info.hasJetStream {
            if let stream = streams.values.first(where: { $0.settings.stores(frame.subject) })?.name {
                sequence = store(frame, in: stream)
                isHeard = true
            } else if useJetStream(frame) {
                isHeard = true
            }
        }
        for service in services.values where service.pattern.matches(frame.subject) {
            calls.append(Call(handler: service.handler, payload: frame.payload, reply: frame.reply))
            isHeard = true
        }
        if !isHeard, let sender { tellOfNobody(frame, sender) }
        return sequence
    }

    private func fault(for subject: String) -> MemoryServer.Failure? {
        guard !faults.failures.isEmpty else { return nil }
        let found = faults.failures.filter { subject.hasPrefix($0.key.prefix) && subject.hasSuffix($0.key.suffix) }
        return found.max { $0.key.length < $1.key.length }?.value
    }

    private mutating func fail(_ frame: MemoryFrame, _ failure: MemoryServer.Failure, _ sender: Int) {
        switch failure {
        case .refusal(let refusal): answer(frame, JSON.object(["error": refusal.json]).bytes)
        case .noResponders: tellOfNobody(frame, sender)
        case .silence: break
        }
    }

    /// Tells the sender of a request that the subject has no subscriber.
    private mutating func tellOfNobody(_ frame: MemoryFrame, _ sender: Int) {
        guard let reply = frame.reply, links[sender]?.hearsOfNobody == true else { return }
        let status = MemoryFrame(subject: reply, block: HeaderText.block(status: "503"))
        for key in index.keys(for: reply) where key.link == sender { write(status, to: key) }
    }

    /// Sends an answer, where one is asked for.
    mutating func answer(_ frame: MemoryFrame, _ payload: [UInt8], block: [UInt8] = []) {
        guard let reply = frame.reply else { return }
        deliver(MemoryFrame(subject: reply, block: block, payload: payload), to: reply)
    }

    /// Hands on what one of the server's own services says.
    mutating func answered(_ call: Call, with payload: [UInt8]?) {
        guard let payload, let reply = call.reply else { return }
        deliver(MemoryFrame(subject: reply, payload: payload), to: reply)
    }

    /// Sends a message to those who subscribe to `route`; false when there are none.
    @discardableResult
    mutating func deliver(_ frame: MemoryFrame, to route: String, from sender: Int? = nil) -> Bool {
        var receivers: [SubscriptionKey] = []
        var groups: [String: [SubscriptionKey]] = [:]
        for key in index.keys(for: route) {
            guard let entry = index.entries[key] else { continue }
            if let sender, key.link == sender, links[sender]?.isEchoed == false { continue }
            if let queue = entry.queue {
                groups[entry.pattern.text + " " + queue, default: []].append(key)
            } else {
                receivers.append(key)
            }
        }
        for members in groups.values {
            turn += 1
            receivers.append(members[turn % members.count])
        }
        for key in receivers { write(frame, to: key) }
        return !receivers.isEmpty
    }

    private mutating func write(_ frame: MemoryFrame, to key: SubscriptionKey) {
        links[key.link]?.write(faults.numbers.isEmpty ? frame : frame.with(faults.numbers), number: key.number)
        counts[key, default: 0] += 1
        if let limit = limits[key], counts[key] ?? 0 >= limit { unsubscribe(key) }
    }

    mutating func deliver(_ deliveries: [MemoryStream.Delivery]) {
        for delivery in deliveries { deliver(delivery.frame, to: delivery.route) }
    }

    // MARK: Administration

    mutating func setService(_ subject: String, _ handler: MemoryServer.Handler?) {
        services[subject] = handler.map { Service(pattern: SubjectPattern(subject), handler: $0) }
    }

    mutating func disconnectAll() {
        for number in links.keys { links[number]?.end() }
    }

    /// Sends an error to all clients, and closes their connections where it is to.
    mutating func sendError(_ words: String, closes: Bool) {
        for number in links.keys {
            links[number]?.write("-ERR '\(words)'\r\n")
            if closes { links[number]?.end() }
        }
    }

    /// Sends INFO to all clients that are logged in.
    mutating func send(_ info: MemoryServer.Info) {
        for (number, link) in links where link.isLoggedIn { links[number]?.write(info.line(client: number)) }
    }

    /// A moment for a message or a stream: each has its own.
    mutating func stamp() -> Int64 {
        lastStamp = max(lastStamp + 1, now)
        return lastStamp
    }

    // MARK: Time and work

    /// Takes in what time it is, and does what is due by then.
    mutating func advance(to moment: Int64) {
        now = max(now, moment)
        guard !faults.isSilent, let due, due <= now else { return }
        let (readers, present) = (index, now)
        for name in streams.keys.sorted() { deliver(streams[name]?.advance(readers, to: present) ?? []) }
        plan()
    }

    /// Has each consumer of the moment live on a copy of its stream that has stopped taking in what the others store.
    mutating func stallConsumers() {
        for name in streams.keys { streams[name]?.stallConsumers() }
    }

    /// Sends a sign of life to every request that waits and wants them.
    mutating func sendHeartbeats() {
        for name in streams.keys { streams[name]?.hastenHeartbeats(at: now) }
        plan()
        advance(to: now)
    }

    /// When something is due next.
    @discardableResult
    mutating func plan() -> Int64? {
        due = faults.isSilent ? nil : streams.values.compactMap(\.due).min()
        return due
    }

    /// Hands over what is to be done outside; nil when there is nothing.
    mutating func takeWork() -> Work? {
        var work = Work(outputs: [], calls: calls)
        calls = []
        for number in links.keys.sorted() {
            if let output = links[number]?.takeOutput() { work.outputs.append(output) }
        }
        return work.outputs.isEmpty && work.calls.isEmpty ? nil : work
    }
}
