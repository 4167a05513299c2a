import Platform
import Synchronization

/// A number in a file, which one process writes and others read. It survives the writer: the system has it at once.
final class ChaosCounter: Sendable {
    private let descriptor: Int32
    private static let size = MemoryLayout<Int>.size

    init(_ path: String) throws {
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw BenchFailure("\(path): \(String(cString: strerror(errno)))") }
    }

    deinit { close(descriptor) }

    /// The number; 0 if none was written.
    var value: Int {
        var number = 0
        return pread(descriptor, &number, Self.size, 0) == Self.size ? number : 0
    }

    func write(_ value: Int) throws {
        var number = value
        guard pwrite(descriptor, &number, Self.size, 0) == Self.size else {
            throw BenchFailure("the number \(value) cannot be written: \(String(cString: strerror(errno)))")
        }
    }
}

/// Broken promises that a client reported, one line each in its process's log, up to a maximum per process.
enum ChaosNotes {
    private static let mark = "a broken promise: "
    private static let left = Atomic(20)

    static func note(_ text: String) {
        guard left.wrappingSubtract(1, ordering: .relaxed).newValue >= 0 else { return }
        Meter.remark(mark + text)
    }

    static func read(_ log: String) -> [String] {
        let bytes = (try? Data(contentsOf: URL(fileURLWithPath: log))) ?? Data()
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        return lines.compactMap { line in line.firstRange(of: mark).map { String(line[$0.upperBound...]) } }
    }
}
