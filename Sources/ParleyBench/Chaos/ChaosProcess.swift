import NATS
import NIOConcurrencyHelpers
import Platform
import RelayFaults
import RelayNetwork

/// A publisher or subscriber of a chaos run: a process after the other in one folder, on links of its own. The present
/// one ends with this process, however that ends.
final class ChaosProcess: Sendable {
    let role: ChaosRole
    let name: String
    let folder: String
    private let command: [String]
    private let links: [FaultProxy]
    private let counter: ChaosCounter
    private let state = NIOLockedValueBox(State())

    private struct State {
        var process: ServerProcess?
        var kills = 0
    }

    /// Makes its folder and links, and starts nothing yet.
    init(_ role: ChaosRole, _ index: Int, _ plan: ChaosPlan, _ servers: any ChaosSite, in parent: String) async throws {
        self.role = role
        name = role == .publisher ? "publisher-\(index)" : "subscriber-\(index)"
        folder = "\(parent)/\(name)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        counter = try ChaosCounter("\(folder)/\(ChaosRole.Files.accepted)")
        var links: [FaultProxy] = []
        for address in servers.addresses { links.append(try await FaultProxy.start(target: address, seed: plan.seed)) }
        self.links = links
        let urls = links.map { "nats://\($0.address.host):\($0.address.port)" }.joined(separator: ",")
        command =
            [
                ThisProgram.path, role.rawValue, "name=\(name)", "index=\(index)", "folder=\(folder)",
                "servers=\(urls)",
                "topics=\(plan.topics)", "n=\(role == .publisher ? plan.share(of: index) : 0)", "window=\(plan.window)",
            ] + servers.words
    }

    /// How many messages of a publisher were accepted.
    var accepted: Int { counter.value }
    /// How often it was killed.
    var kills: Int { state.withLockedValue(\.kills) }
    /// How often its links were cut.
    var cuts: Int { links.reduce(0) { $0 + $1.statistics.cuts } }
    var store: String { "\(folder)/\(ChaosRole.Files.store)" }

    /// What its client was told that it should never be told.
    var notes: [String] {
        let bytes = try? Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(ChaosRole.Files.notes)"))
        return String(decoding: bytes ?? Data(), as: UTF8.self).split(separator: "\n").map { "\(name): \($0)" }
    }

    // MARK: Life

    func start() async throws {
        let process = try await ServerProcess.start(
            command, environment: ProcessInfo.processInfo.environment, log: LogFile("\(folder)/log"))
        state.withLockedValue { $0.process = process }
    }

    /// Kills it at some moments of a progress, and starts it again each time. Returns with the end of a publisher that
    /// has published all, and for a subscriber when it has been killed for the last time.
    func killing(at moments: [Int], of progress: @Sendable () -> Int, using generator: SeededGenerator) async throws {
        var generator = generator
        var left = moments[...]
        var newest = (progress: -1, at: ContinuousClock.now)
        while true {
            if let status = await ending() {
                guard status == 0, role == .publisher else { throw failure("it ended with status \(status)") }
                return
            }
            let now = progress()
            if let next = left.first, now >= next {
                left.removeFirst()
                guard try await kill() else { return }
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

    /// Nothing of what is rehearsed takes so long.
    private static let patience = Duration.seconds(180)

    /// The wait status of the present process; nil while it lives.
    private func ending() async -> Int32? {
        guard let process = state.withLockedValue(\.process), process.hasEnded else { return nil }
        return await process.end()
    }

    /// Kills it without a word; false when it had come to its good end before.
    private func kill() async throws -> Bool {
        guard let process = state.withLockedValue(\.process) else { return false }
        process.signal(SIGKILL)
        guard let status = await process.end() else { throw CancellationError() }
        if status == 0, role == .publisher { return false }
        // A status of a signal is its number.
        guard status == SIGKILL else { throw failure("it ended with status \(status)") }
        state.withLockedValue { $0.kills += 1 }
        return true
    }

    /// Whether it has ended.
    var hasEnded: Bool { state.withLockedValue { $0.process?.hasEnded ?? true } }

    /// Asks it to end, and returns its wait status when it has.
    @discardableResult
    func stop() async -> Int32? {
        guard let process = state.withLockedValue(\.process) else { return nil }
        await process.stop(grace: .seconds(30))
        return await process.end()
    }

    func closeLinks() async {
        for link in links { await link.close() }
    }

    func failure(_ words: String) -> ChaosFailure {
        ChaosFailure("\(name): \(words)\n\(LogFile.tail(of: "\(folder)/log", lines: 5))")
    }

    // MARK: Links

    /// Cuts its connection at a chance place.
    func cut(using generator: inout SeededGenerator) async {
        let bytes = Int.random(in: 0...3_000, using: &generator)
        let direction: FaultProxy.Direction = Bool.random(using: &generator) ? .fromClient : .fromServer
        let ending: FaultProxy.Ending = Bool.random(using: &generator) ? .reset : .finish
        for link in links { await link.cut(afterBytes: bytes, direction: direction, how: ending) }
    }
}

/// This program's file, for scenarios that start it again in another role.
enum ThisProgram {
    static var path: String {
        #if os(Linux)
            if let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") { return path }
        #endif
        return CommandLine.arguments.first ?? "parley-bench"
    }
}
