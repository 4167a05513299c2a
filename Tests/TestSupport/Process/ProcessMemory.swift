import Foundation

/// The memory of this process.
public enum ProcessMemory {
    /// Bytes that are in use now; 0 where the system does not tell.
    public static var resident: Int { Int(kilobytes: "VmRSS:", of: "self") }
}

extension Int {
    /// A line of a process's status, in bytes; 0 where the system does not tell.
    public init(kilobytes name: String, of process: String) {
        let status = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix(name) }
        self = (line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) } ?? 0) << 10
    }
}
