import Foundation

/// What each thread of a process waits for, as the kernel tells: for the message of a test whose program does not
/// answer.
public enum ProcessThreads {
    /// A line for each thread with its name, its state and where in the kernel it waits; none where the system does not
    /// tell.
    public static func lines(of processID: Int32) -> [String] {
        let folder = "/proc/\(processID)/task"
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return threads.sorted().map { thread in
            func read(_ name: String) -> String {
                let text = try? String(contentsOfFile: "\(folder)/\(thread)/\(name)", encoding: .utf8)
                return (text ?? "?").trimmingCharacters(in: .whitespacesAndNewlines)
            }
            // Behind the name, which is in parentheses and may have some itself.
            let state = read("stat").split(separator: ")").last?.split(separator: " ").first ?? "?"
            return "\(thread) \(read("comm")): \(state), \(read("wchan")), system call \(read("syscall").prefix(24))"
        }
    }
}
