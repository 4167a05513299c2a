#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// What a process, all of its threads together, has done since its start, as Linux's `/proc` has it.
struct ProcessActivity {
    /// How often a thread went to sleep of its own accord. What sleeps wakes up before it does so again.
    var sleeps: Int
    /// Processor time in ticks of the system's clock.
    var ticks: Int

    /// The activity of a process up to now; nil where the system does not say.
    static func of(_ process: pid_t) -> ProcessActivity? {
        guard let folder = opendir("/proc/\(process)/task") else { return nil }
        defer { closedir(folder) }
        var sum = ProcessActivity(sleeps: 0, ticks: 0)
        var threads = 0
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard let thread = Int(name) else { continue }
            let place = "/proc/\(process)/task/\(thread)"
            // A thread may end between two looks.
            guard let status = text(of: "\(place)/status"), let times = text(of: "\(place)/stat") else { continue }
            threads += 1
            sum.sleeps += value("voluntary_ctxt_switches:", in: status) ?? 0
            // The program's name is in parentheses and may have spaces; 11 fields behind it are the two times.
            let fields = times[(times.lastIndex(of: ")") ?? times.startIndex)...].split(separator: " ")
            if fields.count > 13 { sum.ticks += (Int(fields[12]) ?? 0) + (Int(fields[13]) ?? 0) }
        }
        return threads > 0 ? sum : nil
    }

    private static func value(_ name: String, in status: String) -> Int? {
        let line = status.split(separator: "\n").first { $0.hasPrefix(name) }
        return line?.split(whereSeparator: \.isWhitespace).last.flatMap { Int($0) }
    }

    private static func text(of path: String) -> String? {
        guard let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 8_192)
        let count = fread(&bytes, 1, bytes.count, file)
        return count > 0 ? String(decoding: bytes.prefix(count), as: UTF8.self) : nil
    }
}
