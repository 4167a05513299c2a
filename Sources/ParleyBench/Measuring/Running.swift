import Platform
import Relay
import RelayNetwork

/// The words after a benchmark's name, most of them `k=v`.
struct Words {
    private var values: [String: String] = [:]

    init(_ words: some Sequence<String>) {
        for word in words {
            guard let equals = word.firstIndex(of: "=") else { continue }
            values[String(word[..<equals])] = String(word[word.index(after: equals)...])
        }
    }

    func number(_ name: String, _ fallback: Int, atLeast least: Int = 0) -> Int {
        max(least, values[name].flatMap(Int.init) ?? fallback)
    }
    func text(_ name: String, _ fallback: String = "") -> String { values[name] ?? fallback }

    /// The parts of a benchmark to measure.
    func only(_ all: [String]) throws -> [String] {
        guard let text = values["only"] else { return all }
        let parts = text.split(separator: ",").map(String.init)
        if let strange = parts.first(where: { !all.contains($0) }) {
            throw BenchFailure("there is no part \(strange); these are: \(all.joined(separator: ", "))")
        }
        return parts
    }
}

/// Why a benchmark could not be completed.
struct BenchFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// Runs a body, and then `end`, even if the body throws.
func finally<Value>(_ end: () async -> Void, after body: () async throws -> Value) async throws -> Value {
    let result: Result<Value, any Error>
    do { result = .success(try await body()) } catch { result = .failure(error) }
    await end()
    return try result.get()
}

/// Measures two things repeatedly, alternating their order, since the later one finds warmer caches.
func inTurns<One, Other>(
    _ rounds: Int, _ one: (Int) async throws -> One, _ other: (Int) async throws -> Other
) async throws -> ([One], [Other]) {
    var (ones, others): ([One], [Other]) = ([], [])
    for round in 0..<rounds {
        if round.isMultiple(of: 2) { ones.append(try await one(round)) }
        others.append(try await other(round))
        if !round.isMultiple(of: 2) { ones.append(try await one(round)) }
    }
    return (ones, others)
}

/// The median of the ratios of figures from the same round.
func medianRatio(_ ones: [Double], _ others: [Double]) -> Double { zip(ones, others).map { $0 / $1 }.median }

/// Waits until a condition is true; throws, naming `what`, if it takes too long.
func wait(
    for what: @autoclosure () -> String, within limit: Duration = .seconds(60), every step: Duration = .milliseconds(2),
    until holds: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + limit
    while try await !holds() {
        guard ContinuousClock.now < deadline else { throw BenchFailure("\(what()) did not come within \(limit)") }
        try await Task.sleep(for: step)
    }
}

extension Subscription<TopicEvent> {
    /// Reads to the end, and describes other events that a reader should never see.
    func read(_ take: (TopicMessage) -> Void, flaw: (String) -> Void) async throws {
        var iterator = makeAsyncIterator()
        while let batch = try await iterator.nextBatch() {
            for event in batch {
                switch event {
                case .message(let message): take(message)
                case .gap(let lost): flaw("\(lost) messages are said to be gone")
                case .unreadable(let sequence, _, _): flaw("\(sequence) cannot be read")
                case .restarted: flaw("the stream is said to be another one")
                case .live, .interrupted: break
                }
            }
        }
    }
}

/// This program's file, for benchmarks that start it again in another role.
enum ThisProgram {
    private static var path: String {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
            ?? CommandLine.arguments.first ?? "parley-bench"
    }

    /// Starts it again, with a file for its output.
    static func start(_ words: [String], log: String) async throws -> ServerProcess {
        try await ServerProcess.start(
            [path] + words, environment: ProcessInfo.processInfo.environment, log: LogFile(log))
    }

    /// The program `parley` beside this one; nil, with a remark, if there is none or the system is not Linux.
    static func parley(for benchmark: String) -> String? {
        #if os(Linux)
            let path = URL(fileURLWithPath: path).deletingLastPathComponent().appendingPathComponent("parley").path
            if access(path, X_OK) == 0 { return path }
            Meter.remark("\(benchmark) is skipped: there is no parley beside parley-bench")
        #else
            Meter.remark("\(benchmark) is skipped: it is measured only on Linux")
        #endif
        return nil
    }
}
