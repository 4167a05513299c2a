import NATS
import Relay
import TestSupport
import Testing

/// Random lives of ``Delivery`` against a server that stores each identifier once while it remembers it, goes away, and
/// loses its memory of identifiers with time. At the end of each life both come back, and nothing may be left behind.
@Suite struct DeliveryPropertyTests {
    /// What is stored, in order, and what is remembered.
    private struct Server {
        var stored: [Destination: [String]] = [:]
        var sequences: [String: UInt64] = [:]
        var remembered: [String: ContinuousClock.Instant] = [:]
        var count: UInt64 = 0
        var isAway = false

        mutating func receive(
            _ message: OutboxMessage, at now: ContinuousClock.Instant
        ) -> Result<PublishAcknowledgement, NATSError> {
            if isAway { return .failure(.noResponders(subject: "x")) }
            if let since = remembered[message.id], now - since < .seconds(120), let sequence = sequences[message.id] {
                return .success(PublishAcknowledgement(stream: "S", sequence: sequence, isDuplicate: true))
            }
            count += 1
            sequences[message.id] = count
            remembered[message.id] = now
            stored[message.destination, default: []].append(message.id)
            return .success(PublishAcknowledgement(stream: "S", sequence: count))
        }
    }

    /// One life: everything that can happen, in random order.
    private struct Life {
        var random: SeededGenerator
        var delivery: Delivery
        var server = Server()
        var now = ContinuousClock.now
        var isConnected = false
        var wire: [OutboxMessage] = []
        var answers: [(id: String, result: Result<PublishAcknowledgement, NATSError>)] = []
        var searches: [(id: String, topic: String)] = []
        var questions: [String] = []
        var alarm: ContinuousClock.Instant?
        var accepted: Set<String> = []
        var outcomes: [String: [PublishNews.State]] = [:]
        /// What is kept on the disk as perhaps sent.
        var mayHaveLeft: Set<String> = []
        /// What the disk does not have yet, whether it is to have first that what waits may have left, and what it is
        /// being told.
        var unkept: Set<String> = []
        var awaitsLeave = false
        var write: (end: UInt64, ids: Set<String>, leaves: Bool)?
        var leftEarly: [String] = []
        var nextID = 0

        init(seed: UInt64) {
            random = SeededGenerator(seed: seed)
            delivery = Delivery(
                policy: OutboxPolicy(
                    maximumMessages: 60, maximumBytes: 3_000, overflow: seed % 2 == 0 ? .rejectNew : .dropOldest,
                    discardsOnWindowExpiry: seed % 3 == 0, maximumInFlight: 24,
                    maximumInFlightPerDestination: [1, 4, 24][Int(seed % 3)],
                    refusalLimit: seed % 5 == 0 ? .seconds(20) : nil))
        }

        private mutating func number(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &random) }

        mutating func take(_ actions: [Delivery.Action]) {
            for action in actions {
                switch action {
                case .send(let message):
                    if awaitsLeave || unkept.contains(message.id) { leftEarly.append(message.id) }
                    wire.append(message)
                case .end(let end): outcomes[end.id, default: []].append(end.state)
                case .wake(let moment): alarm = moment
                case .lookUp(let late, let topic): searches.append((late.message.id, topic))
                case .askRecipient(let id, _, _, let isRefused): if isRefused { questions.append(id) }
                case .tell, .probe, .askStream, .lookUpKey: break
                }
            }
        }

        /// Everything on the wire reaches the server in one go: it is there for all of it, or for none.
        private mutating func reachServer() {
            for message in wire { answers.append((message.id, server.receive(message, at: now))) }
            wire = []
        }

        private mutating func loseConnection() {
            // Any part of what was on the wire, from its beginning, may have been stored; every answer is gone.
            for message in wire.prefix(number(wire.count + 1)) { _ = server.receive(message, at: now) }
            (wire, answers, searches, questions, isConnected) = ([], [], [], [], false)
            awaitsLeave = false
            take(delivery.connectionLost())
        }

        private mutating func connect() {
            isConnected = true
            awaitsLeave = number(2) == 0
            mayHaveLeft.formUnion(delivery.messages.map(\.id))
            take(delivery.opened(tellsOfRecipients: true, isKeptFirst: awaitsLeave, at: now))
        }

        /// The disk has what it was told, and is told the rest.
        private mutating func turnDisk() {
            guard let done = write else {
                write = (delivery.nextNumber, unkept, awaitsLeave)
                return
            }
            write = nil
            unkept.subtract(done.ids)
            if done.leaves { awaitsLeave = false }
            take(delivery.kept(before: unkept.isEmpty ? .max : done.end, leaves: !awaitsLeave, at: now))
        }

        /// The server's first answers arrive.
        private mutating func answer(_ count: Int) {
            let some = Array(answers.prefix(count))
            answers.removeFirst(some.count)
            take(delivery.answered(some, at: now))
        }

        /// A search ends; it is as good as its server.
        private mutating func answerSearch() {
            guard let search = searches.popLast() else { return }
            let finding: Delivery.Finding =
                if server.isAway {
                    .failed
                } else if number(20) == 0, delivery.message(underWay: search.id)?.mayBeStored == false {
                    // Of an earlier run's messages only those are missed that lie very far back.
                    .unknown
                } else {
                    server.sequences[search.id].map { .stored(sequence: $0) } ?? .absent
                }
            take(delivery.lookedUp(id: search.id, finding, at: now))
        }

        private mutating func answerQuestion() {
            let state: RecipientReply.State? = [.accepting, .accepting, .disabled, nil][number(4)]
            take(delivery.recipientAnswered(id: questions.removeFirst(), state, isRefused: true, at: now))
        }

        /// The alarm rings where its time has come.
        private mutating func ring() {
            if let moment = alarm, moment <= now { alarm = nil }
            take(delivery.moment(at: now))
        }

        /// The process is killed, and the next one finds on the disk what has not ended.
        private mutating func restart() {
            // Nobody was told of what the disk did not have.
            for id in unkept where outcomes[id] == nil { accepted.remove(id) }
            let kept = delivery.messages.filter { !unkept.contains($0.id) }.map { message in
                OutboxMessage(
                    id: message.id, destination: message.destination, payload: message.payload,
                    mayBeStored: mayHaveLeft.contains(message.id))
            }
            loseConnection()
            delivery = Delivery(policy: delivery.policy)
            (alarm, write, unkept) = (nil, nil, [])
            take(delivery.restore(kept))
        }

        mutating func step() {
            now += .milliseconds(number(40))
            switch number(24) as Int {
            case 0...5:
                let destination: Destination =
                    number(5) == 0 ? .postbox(user: "bob", postbox: "work") : .topic("t\(number(3))")
                let message = OutboxMessage(
                    id: "\(nextID)", destination: destination, payload: Array(repeating: 0, count: number(90)))
                nextID += 1
                let isKeptFirst = number(2) == 0 || !unkept.isEmpty
                if let actions = try? delivery.submit(message, isKeptFirst: isKeptFirst, at: now) {
                    accepted.insert(message.id)
                    if isKeptFirst { unkept.insert(message.id) }
                    if isConnected { mayHaveLeft.insert(message.id) }
                    take(actions)
                }
            case 6...9: if isConnected { reachServer() }
            case 10...14:
                guard isConnected, !answers.isEmpty else { return }
                answer(1 + number(answers.count))
            case 15: if isConnected { answerSearch() }
            case 16: if !questions.isEmpty { answerQuestion() } else if !isConnected { connect() }
            case 17: if number(12) == 0 { loseConnection() }
            case 18:
                // The server goes or comes when nothing is on its way, as it takes longer than anything on its way
                // does.
                guard number(10) == 0, wire.isEmpty, answers.isEmpty else { return }
                server.isAway.toggle()
            // Nothing is on its way for so long that the server forgets meanwhile.
            case 19: if wire.isEmpty, number(20) == 0 { now += .seconds(number(300)) }
            case 20:
                if let alarm, wire.isEmpty { now = max(now, alarm) }
                ring()
            case 21, 22: turnDisk()
            default:
                switch number(400) {
                case 0: take(delivery.cancel(id: "\(max(0, nextID - 1 - number(20)))", at: now))
                case 1:
                    loseConnection()
                    take(delivery.sessionEnded(number(2) == 0 ? .closedByUser : .windowExpired))
                case 2:
                    loseConnection()
                    take(delivery.discardAll(.closedByUser))
                case 3...6: restart()
                default: break
                }
            }
        }

        /// Server and connection are there, everything is answered, and each alarm rings that was asked for. A
        /// connection that stands stays, as a new one would set a lane going that had stopped. Ends when nothing
        /// happens any more.
        mutating func settle() {
            if !isConnected { connect() }
            // Far more rounds than messages can wait: who goes round in circles is caught as well.
            for _ in 0..<1_000 {
                if wire.isEmpty, answers.isEmpty { server.isAway = false }
                while write != nil || awaitsLeave || !unkept.isEmpty { turnDisk() }
                if !wire.isEmpty || !answers.isEmpty {
                    reachServer()
                    answer(answers.count)
                } else if !searches.isEmpty {
                    answerSearch()
                } else if !questions.isEmpty {
                    answerQuestion()
                } else if let moment = alarm {
                    now = max(now, moment)
                    ring()
                } else {
                    return
                }
            }
        }
    }

    @Test(
        "B29, B30, B32, B33, B39: whatever happens, each message ends once, is stored at most once, in its topic's order",
        .processorBound, arguments: 0..<8 as Range<UInt64>)
    func lives(seed: UInt64) async {
        for number in 0..<25 as Range<UInt64> {
            await Task.yield()
            var life = Life(seed: seed &* 1_000 &+ number)
            for _ in 0..<5_000 { life.step() }
            life.settle()

            #expect(life.leftEarly.isEmpty, "left before the disk had it")
            // A lane that had stopped would hold what was accepted.
            #expect(life.delivery.messages.isEmpty, "seed \(seed), \(number): left behind")
            #expect(Set(life.outcomes.keys) == life.accepted)
            #expect(life.outcomes.values.allSatisfy { $0.count == 1 })
            for (destination, ids) in life.server.stored {
                let numbers = ids.compactMap { Int($0) }
                #expect(Set(numbers).count == numbers.count, "\(destination) holds a message twice")
                #expect(numbers == numbers.sorted(), "\(destination) is out of order")
            }
            for (id, outcome) in life.outcomes {
                switch outcome[0] {
                case .acknowledged(let sequence, _): #expect(life.server.sequences[id] == sequence)
                case .failed, .discarded, .uncertain: break
                case .queued, .sending: Issue.record("\(id) is told as ended while it is \(outcome[0])")
                }
            }
            #expect(life.delivery.isEmpty && life.delivery.byteCount == 0)
            #expect(life.delivery.inFlightCount == 0)
        }
    }
}
