import Platform

/// Clocks and counters of this process and of others, as far as the system has them; some exist only on Linux.
enum Meter {
    /// Seconds by the monotonic clock.
    static func now() -> Double { time(by: CLOCK_MONOTONIC) }

    /// CPU seconds of this process, all threads.
    static func cpu() -> Double { time(by: CLOCK_PROCESS_CPUTIME_ID) }

    private static func time(by clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
    }

    static func seconds(_ work: () async throws -> Void) async rethrows -> Double {
        let begin = now()
        try await work()
        return now() - begin
    }

    /// CPU seconds of another process, all threads, in steps of 10 ms; 0 if the system does not say.
    static func cpu(of process: pid_t) -> Double {
        Double(ticks(of: process) ?? 0) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// Processor time of a process, with that of threads that have ended, in ticks of the system's clock.
    static func ticks(of process: pid_t) -> Int? {
        guard let line = text(of: "/proc/\(process)/stat") else { return nil }
        // The program's name is in parentheses and may contain spaces; the two times are 11 fields after it.
        let fields = line[(line.lastIndex(of: ")") ?? line.startIndex)...].split(separator: " ")
        guard fields.count > 13, let user = Int(fields[12]), let system = Int(fields[13]) else { return nil }
        return user + system
    }

    /// How often each thread of a process, by its id, went to sleep voluntarily.
    static func sleeps(of process: pid_t) -> [String: Int] {
        let folder = "/proc/\(process)/task"
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return threads.reduce(into: [:]) { sleeps, thread in
            sleeps[thread] = number("voluntary_ctxt_switches:", in: "\(folder)/\(thread)/status")
        }
    }

    /// The most memory this process has held, in KiB.
    static func peakMemory() -> Double {
        var usage = rusage()
        #if canImport(Glibc)
            getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        #else
            getrusage(RUSAGE_SELF, &usage)
        #endif
        #if os(Linux)
            return Double(usage.ru_maxrss)
        #else
            return Double(usage.ru_maxrss) / 1_024
        #endif
    }

    /// Resets ``peakMemoryOfPhase()`` to the current use.
    static func beginPhase() {
        guard let file = fopen("/proc/self/clear_refs", "w") else { return }
        fputs("5", file)
        fclose(file)
    }

    /// The most memory this process has held since ``beginPhase()``, in KiB, or since its start.
    static func peakMemoryOfPhase() -> Double {
        number("VmHWM:", in: "/proc/self/status").map { Double($0) } ?? peakMemory()
    }

    /// The memory that a process holds now, in KiB; 0 if the system does not say.
    static func memory(of process: pid_t = getpid()) -> Double {
        number("VmRSS:", in: "/proc/\(process)/status").map { Double($0) } ?? 0
    }

    /// The number of open descriptors of this process.
    static func descriptors() -> Int { (0..<4_096).count { fcntl(Int32($0), F_GETFD) >= 0 } }

    private static func number(_ name: String, in file: String) -> Int? {
        let line = text(of: file)?.split(separator: "\n").first { $0.hasPrefix(name) }
        return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }
    }

    private static func text(of path: String) -> String? {
        (try? Data(contentsOf: URL(fileURLWithPath: path))).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Prints a line at once, so that a waiting process sees it.
    static func say(_ line: String) {
        print(line)
        fflush(nil)
    }

    /// Prints a line that is not a result to standard error.
    static func remark(_ line: String) {
        let bytes = Array("parley-bench: \(line)\n".utf8)
        _ = write(2, bytes, bytes.count)
    }
}
