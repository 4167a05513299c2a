import Platform

/// Looking at another process.
enum RunningProcess {
    /// Whether a process runs. One that has ended does not, even where nobody has waited for it yet.
    ///
    /// Its arguments cannot tell: while a process begins another program, it has none.
    static func exists(_ pid: pid_t) -> Bool {
        guard pid > 0, kill(pid, 0) == 0 || errno == EPERM else { return false }
        guard let status = try? PrivateFile.read("/proc/\(pid)/stat") else { return true }
        // The state comes behind the name, which is in parentheses and may have any character in it.
        guard let name = status.lastIndex(of: UInt8(ascii: ")")) else { return true }
        let state = status[(name + 1)...].first { $0 != UInt8(ascii: " ") }
        return state != UInt8(ascii: "Z") && state != UInt8(ascii: "X")
    }
}
