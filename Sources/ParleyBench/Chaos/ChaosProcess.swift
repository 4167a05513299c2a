import NATS
import NIOConcurrencyHelpers
import Platform
import RelayFaults
import RelayNetwork

/// A publisher or subscriber of a chaos run: one process after another in the same folder, with its own links. The
/// current one ends with this process, even if it is killed.
final class ChaosProcess: Sendable {
    let role: ChaosRole
    let name: String
    let folder: String
    private let command: [String]
    private let links: [FaultProxy]
    private let counter: ChaosCounter
    private let state = NIOLockedValueBox((process: ServerProcess?.none, kills: 0))

    init(_ role: ChaosRole, _ index: Int, _ plan: ChaosPlan, _ place: ChaosPlace, in parent: String) async throws {
        self.role = role
        name = "\(role == .publisher ? "publisher" : "subscriber")-\(index)"
        folder = "\(parent)/\(name)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        counter = try ChaosCounter("\(folder)/\(ChaosRole.accepted)")
        var links: [FaultProxy] = []
        for address in place.addresses { links.append(try await FaultProxy.start(target: address, seed: plan.seed)) }
        self.links = links
        let names = place.namespace
        command = [
            role.rawValue, "name=\(name)", "index=\(index)", "folder=\(folder)",
            "servers=\(links.map { "\($0.address)" }.joined(separator: ","))", "topics=\(plan.topics)",
            "n=\(role == .publisher ? plan.share(of: index) : 0)", "window=\(plan.window)", "namespace=\(names.name)",
            "hash=\(names.hash)", "api=\(names.apiPrefix)", "creds=\(place.credentials)",
        ]
    }

    /// The number of a publisher's accepted messages.
    var accepted: Int { counter.value }
    var kills: Int { state.withLockedValue(\.kills) }
    var cuts: Int { links.reduce(0) { $0 + $1.statistics.cuts } }
    var store: String { "\(folder)/\(ChaosRole.store)" }
    /// The broken promises that its client reported.
    var notes: [String] { ChaosNotes.read("\(folder)/log").map { "\(name): \($0)" } }
    private var process: ServerProcess? { state.withLockedValue(\.process) }
    var hasEnded: Bool { process?.hasEnded ?? true }

    func start() async throws {
        let process = try await ThisProgram.start(command, log: "\(folder)/log")
        state.withLockedValue { $0.process = process }
    }

    /// No rehearsed outage takes this long.
    private static let patience = Duration.seconds(180)

    /// Kills it at some moments of a progress, and restarts it each time. Returns once a publisher has published
    /// everything, or after a subscriber's last kill.
    func killing(at moments: [Int], of progress: @Sendable () -> Int, using generator: SeededGenerator) async throws {
        var generator = generator
        var left = moments[...]
        var newest = (progress: -1, at: ContinuousClock.now)
        while let process {
            if process.hasEnded {
                let status = await process.end()
                guard status == 0, role == .publisher else { throw failure("it ended with status \(status ?? -1)") }
                return
            }
            let now = progress()
            if let next = left.first, now >= next {
                left.removeFirst()
                guard try await kill(process) else { return }
                try await Task.sleep(for: .milliseconds(Int.random(in: 0...500, using: &generator)))
                try await start()
                continue
            }
            if left.isEmpty, role == .subscriber { return }
            if now != newest.progress { newest = (now, .now) }
            guard ContinuousClock.now - newest.at < Self.patience else {
                throw failure("nothing was accepted for \(Self.patience), after \(now) messages")
            }
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    /// Kills it; false if it had already ended well.
    private func kill(_ process: ServerProcess) async throws -> Bool {
        process.signal(SIGKILL)
        guard let status = await process.end() else { throw CancellationError() }
        if status == 0, role == .publisher { return false }
        // The status of a signal is its number.
        guard status == SIGKILL else { throw failure("it ended with status \(status)") }
        state.withLockedValue { $0.kills += 1 }
        return true
    }

    /// Asks it to end, waits, and returns its wait status.
    @discardableResult
    func stop() async -> Int32? {
        await process?.stop(grace: .seconds(30))
        return await process?.end()
    }

    func close() async {
        await stop()
        for link in links { await link.close() }
    }

    func failure(_ words: String) -> BenchFailure {
        BenchFailure("\(name): \(words)\n\(LogFile.tail(of: "\(folder)/log", lines: 5))")
    }

    func cut(using generator: inout SeededGenerator) async {
        let bytes = Int.random(in: 0...3_000, using: &generator)
        let direction: FaultProxy.Direction = Bool.random(using: &generator) ? .fromClient : .fromServer
        let ending: FaultProxy.Ending = Bool.random(using: &generator) ? .reset : .finish
        for link in links { await link.cut(afterBytes: bytes, direction: direction, how: ending) }
    }
}
