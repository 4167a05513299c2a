import NIOConcurrencyHelpers
import Relay
import TestSupport

@testable import RelayLab

/// A client under test in memory: it does to its messages what a policy says, and says what a test has it say.
final class ScriptedSubject: LabSubject {
    /// What becomes of what is sent.
    enum Policy: Sendable {
        /// Each message is delivered once and in order.
        case honest
        /// The messages with these numbers are acknowledged and not delivered.
        case drops(Set<Int>)
        /// The messages with these numbers are delivered twice.
        case doubles(Set<Int>)
        /// The message with this number comes behind the next one.
        case swaps(Int)
        /// Each message is reported as not sent.
        case refuses
        /// No message ends before the client is closed.
        case holds
    }

    private struct State {
        var kept: LabNumber?
        var waiting: [CheckedContinuation<LabOutcome, Never>] = []
        var isClosed = false
        var acts: [String] = []
    }

    let statuses: AsyncStream<ConnectionStatus>
    private let status: AsyncStream<ConnectionStatus>.Continuation
    private let deliveries: AsyncStream<LabNumber>
    private let delivery: AsyncStream<LabNumber>.Continuation
    private let policy: Policy
    private let state = NIOLockedValueBox(State())

    init(_ policy: Policy = .honest) {
        self.policy = policy
        (statuses, status) = AsyncStream.makeStream(of: ConnectionStatus.self, bufferingPolicy: .bufferingOldest(1_000))
        (deliveries, delivery) = AsyncStream.makeStream(of: LabNumber.self, bufferingPolicy: .bufferingOldest(10_000))
        status.yield(.initialized)
    }

    /// What was asked of it beside messages.
    var acts: [String] { state.withLockedValue(\.acts) }

    /// Says a status.
    func say(_ state: ConnectionStatus.State, _ reason: ConnectionReason? = nil, attempt: Int = 0) {
        status.yield(ConnectionStatus(state: state, reason: reason, attempt: attempt))
    }

    var queuedCount: Int { state.withLockedValue(\.waiting.count) }

    func connect() async {
        state.withLockedValue { $0.acts.append("connect") }
        say(.connecting, attempt: 1)
        say(.connected)
    }

    func close() async {
        let waiting = state.withLockedValue { state in
            state.isClosed = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume(returning: .notSent("closed")) }
        say(.disconnected, .closedByUser)
    }

    func lifecycleChanged(_ event: LifecycleEvent) async {
        state.withLockedValue { $0.acts.append("\(event)") }
        if event == .background { say(.suspended, .backgrounded) } else { say(.connected) }
    }

    func signIn(on device: String) async throws {
        state.withLockedValue { $0.acts.append("login \(device)") }
        say(.disconnected, .kickedByOtherDevice(device))
    }

    func read(topic: String) async throws -> LabReader? {
        { [deliveries] in
            var iterator = deliveries.makeAsyncIterator()
            return await iterator.next().map { ($0, false) }
        }
    }

    func send(_ number: LabNumber, topic: String) async throws -> @Sendable () async -> LabOutcome {
        switch policy {
        case .honest: deliver(number)
        case .drops(let numbers): if !numbers.contains(number.value) { deliver(number) }
        case .doubles(let numbers):
            deliver(number)
            if numbers.contains(number.value) { deliver(number) }
        case .swaps(let value):
            let kept = state.withLockedValue { state -> LabNumber? in
                if number.value == value {
                    state.kept = number
                    return nil
                }
                defer { state.kept = nil }
                return state.kept
            }
            if number.value != value { deliver(number) }
            if let kept { deliver(kept) }
        case .refuses: return { .notSent("refused") }
        case .holds:
            return { [state] in
                await withCheckedContinuation { continuation in
                    let isClosed = state.withLockedValue { state in
                        if !state.isClosed { state.waiting.append(continuation) }
                        return state.isClosed
                    }
                    if isClosed { continuation.resume(returning: .notSent("closed")) }
                }
            }
        }
        return { .acknowledged }
    }

    private func deliver(_ number: LabNumber) { delivery.yield(number) }
}

/// A link that keeps what is done to it; a cut has its client say that it lost the connection and has it again.
final class ScriptedLink: LabLink {
    private let subject: ScriptedSubject
    private let done = NIOLockedValueBox<[String]>([])

    init(_ subject: ScriptedSubject) { self.subject = subject }

    var acts: [String] { done.withLockedValue(\.self) }

    func set(_ conditions: [LabAct]) async throws {
        done.withLockedValue { $0.append("set " + conditions.map(\.name.rawValue).joined(separator: " ")) }
    }

    func strike(_ act: LabAct) async {
        done.withLockedValue { $0.append(act.name.rawValue) }
        subject.say(.reconnecting, .connectionLost("cut"), attempt: 1)
        subject.say(.connected)
    }
}

/// A server's side that keeps what is done to it.
final class ScriptedServer: LabServerSide {
    private let subject: ScriptedSubject
    private let done = NIOLockedValueBox<[String]>([])

    init(_ subject: ScriptedSubject) { self.subject = subject }

    var acts: [String] { done.withLockedValue(\.self) }

    func perform(_ act: LabAct) async throws {
        done.withLockedValue { $0.append(act.name.rawValue) }
        if act.name == .kick { subject.say(.disconnected, .kicked(by: nil, reason: act.reason)) }
        if act.name == .block { throw TestFailure("it cannot be blocked") }
    }
}
