import Foundation
import Platform

/// Has a process stand still, and returns when it does. On a busy machine a signal is heard some moments after it was
/// sent, in which a server may still answer.
///
/// - Throws: `TestFailure` at the deadline.
public func pause(_ process: pid_t) async throws {
    kill(process, SIGSTOP)
    #if os(Linux)
        try await eventually("process \(process) to stand still") {
            let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")) ?? []
            return threads.allSatisfy { thread in
                guard let status = try? String(contentsOfFile: "/proc/\(process)/task/\(thread)/stat", encoding: .utf8),
                    let name = status.lastIndex(of: ")")
                else { return true }
                // Stopped, or ended.
                return ["T", "t", "Z", "X"].contains(status[name...].dropFirst(2).first)
            }
        }
    #endif
}
