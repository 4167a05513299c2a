import Platform
import Synchronization

/// The figures of one scenario, printed as one line of JSON.
struct Measurement: Sendable {
    var scenario: String
    var fields: [(name: String, value: Double)] = []

    init(_ scenario: String) { self.scenario = scenario }

    subscript(name: String) -> Double? { fields.first { $0.name == name }?.value }

    func adding(_ name: String, _ value: Double) -> Measurement {
        var copy = self
        copy.fields.append((name, value))
        return copy
    }

    /// Adds median, 99th percentile and mean of durations given in seconds.
    func adding(percentilesOf seconds: [Double]) -> Measurement {
        let sorted = seconds.sorted()
        guard !sorted.isEmpty else { return self }
        let mean = sorted.reduce(0, +) / Double(sorted.count)
        return adding("p50_us", sorted[sorted.count / 2] * 1e6)
            .adding("p99_us", sorted[min(sorted.count - 1, sorted.count * 99 / 100)] * 1e6)
            .adding("mean_us", mean * 1e6)
    }

    /// Adds median and 95th percentile, in milliseconds, of durations given in seconds.
    func adding(_ name: String, milliseconds seconds: [Double]) -> Measurement {
        let sorted = seconds.sorted()
        guard !sorted.isEmpty else { return self }
        return adding(name + "_p50_ms", sorted[sorted.count / 2] * 1e3)
            .adding(name + "_p95_ms", sorted[min(sorted.count - 1, sorted.count * 95 / 100)] * 1e3)
    }

    /// The median; not a number when there are no values.
    static func median(_ values: [Double]) -> Double {
        let values = values.sorted()
        guard !values.isEmpty else { return .nan }
        let middle = values.count / 2
        return values.count % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2
    }

    var json: String {
        let figures = fields.map { "\"\($0.name)\":\(Self.text($0.value))" }
        return "{" + (["\"scenario\":\"\(scenario)\""] + figures).joined(separator: ",") + "}"
    }

    static func text(_ value: Double) -> String {
        value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : String((value * 1_000).rounded() / 1_000)
    }
}

/// Clocks and counters of this process.
enum Meter {
    #if canImport(Glibc)
        private static let whole = __rusage_who_t(RUSAGE_SELF.rawValue)
    #else
        private static let whole = RUSAGE_SELF
    #endif

    /// Seconds by the monotonic clock.
    static func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
    }

    /// CPU seconds of this process, all threads.
    static func cpu() -> Double {
        var usage = rusage()
        getrusage(whole, &usage)
        return Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
            + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6
    }

    /// CPU seconds of another process, all threads, in steps of 10 ms; 0 if the system does not say.
    static func cpu(of process: pid_t) -> Double {
        guard let file = fopen("/proc/\(process)/stat", "r") else { return 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 1_024)
        guard fgets(&line, Int32(line.count), file) != nil else { return 0 }
        let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        // The program's name is in parentheses and may have spaces; 11 fields behind it are the two times.
        let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ")
        guard fields.count > 13, let user = Double(fields[12]), let system = Double(fields[13]) else { return 0 }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// The most memory this process has held, in KiB.
    static func peakMemory() -> Double {
        var usage = rusage()
        getrusage(whole, &usage)
        #if os(Linux)
            return Double(usage.ru_maxrss)
        #else
            return Double(usage.ru_maxrss) / 1_024
        #endif
    }

    /// Has ``peakMemoryOfPhase()`` begin with what this process holds now.
    static func beginPhase() {
        #if os(Linux)
            guard let file = fopen("/proc/self/clear_refs", "w") else { return }
            fputs("5", file)
            fclose(file)
        #endif
    }

    /// The most memory this process has held since ``beginPhase()``, in KiB; since its start where the system keeps no
    /// such figure.
    static func peakMemoryOfPhase() -> Double {
        guard let file = fopen("/proc/self/status", "r") else { return peakMemory() }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, Int32(line.count), file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            guard text.hasPrefix("VmHWM:") else { continue }
            return text.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap { Double($0) } ?? 0
        }
        return peakMemory()
    }

    /// The memory that a process, or this one, holds now, in KiB; 0 if the system does not say.
    static func memory(of process: pid_t? = nil) -> Double {
        let name = process.map { "\($0)" } ?? "self"
        guard let file = fopen("/proc/\(name)/statm", "r") else { return 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 128)
        guard fgets(&line, Int32(line.count), file) != nil else { return 0 }
        let words = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            .split(separator: " ")
        return words.count > 1 ? (Double(words[1]) ?? 0) * Double(sysconf(Int32(_SC_PAGESIZE))) / 1_024 : 0
    }

    /// How many descriptors this process has open.
    static func descriptors() -> Int {
        (0..<4_096).count { fcntl(Int32($0), F_GETFD) >= 0 }
    }

    /// Writes a line at once, so that a process that waits for it sees it.
    static func say(_ line: String) {
        print(line)
        fflush(nil)
    }

    /// Writes a line that is no result to standard error, so that whoever reads the results does not read it.
    static func remark(_ line: String) {
        let bytes = Array("parley-bench: \(line)\n".utf8)
        _ = write(2, bytes, bytes.count)
    }
}
