import Platform

/// What a process, all of its threads together, has done since its start, as Linux's `/proc` has it.
struct ProcessActivity {
    /// How often each thread, by its number, went to sleep of its own accord. What sleeps wakes up before it does so
    /// again.
    private var sleeps: [Int: Int] = [:]
    /// What each thread is called.
    private var names: [Int: String] = [:]
    /// Processor time in ticks of the system's clock, with that of threads that have ended.
    private let ticks: Int

    /// The activity of a process up to now; nil where the system does not say.
    static func of(_ process: pid_t) -> ProcessActivity? {
        guard let ticks = ticks(of: process), let folder = opendir("/proc/\(process)/task") else { return nil }
        defer { closedir(folder) }
        var activity = ProcessActivity(ticks: ticks)
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            // A thread may end between two looks.
            let place = "/proc/\(process)/task/\(name)/status"
            guard let thread = Int(name), let status = text(of: place) else { continue }
            activity.sleeps[thread] = value("voluntary_ctxt_switches:", in: status) ?? 0
            activity.names[thread] = word("Name:", in: status).map { String($0) }
        }
        return activity.sleeps.isEmpty ? nil : activity
    }

    /// What a process has done between two looks.
    struct Done {
        /// How often a thread went to sleep.
        var sleeps = 0
        /// The threads that did, by name, with how often each.
        var threads: [String] = []
        let ticks: Int
    }

    /// What the process has done since an earlier look. The last sleeps of a thread that has ended meanwhile are not
    /// known.
    func since(_ earlier: ProcessActivity) -> Done {
        var done = Done(ticks: ticks - earlier.ticks)
        for (thread, count) in sleeps.sorted(by: { $0.key < $1.key }) {
            let before = earlier.sleeps[thread] ?? 0
            // A number may be another thread's by now, which has slept less.
            let new = count < before ? count : count - before
            guard new > 0 else { continue }
            done.sleeps += new
            done.threads.append("\(names[thread] ?? "?") \(new)")
        }
        return done
    }

    private init(ticks: Int) { self.ticks = ticks }

    private static func ticks(of process: pid_t) -> Int? {
        guard let times = text(of: "/proc/\(process)/stat") else { return nil }
        // The program's name is in parentheses and may have spaces; 11 fields behind it are the two times.
        let fields = times[(times.lastIndex(of: ")") ?? times.startIndex)...].split(separator: " ")
        guard fields.count > 13, let user = Int(fields[12]), let system = Int(fields[13]) else { return nil }
        return user + system
    }

    private static func value(_ name: String, in status: String) -> Int? { word(name, in: status).flatMap { Int($0) } }

    private static func word(_ name: String, in status: String) -> Substring? {
        let line = status.split(separator: "\n").first { $0.hasPrefix(name) }
        return line?.split(whereSeparator: \.isWhitespace).last
    }

    private static func text(of path: String) -> String? {
        guard let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 8_192)
        let count = fread(&bytes, 1, bytes.count, file)
        return count > 0 ? String(decoding: bytes.prefix(count), as: UTF8.self) : nil
    }
}
