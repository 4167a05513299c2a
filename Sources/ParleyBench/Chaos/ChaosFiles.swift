import Platform
import Synchronization

/// A number in a file, which one process writes and others read.
///
/// It outlives its writer, however that ends: the system has it from the moment of the call. Only a power cut could
/// take it, and none is rehearsed here.
final class ChaosCounter: Sendable {
    private let descriptor: Int32

    init(_ path: String) throws {
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw ChaosFailure("\(path): \(String(cString: strerror(errno)))") }
    }

    deinit { close(descriptor) }

    /// The number; 0 where none was written.
    var value: Int {
        var number: Int64 = 0
        let size = MemoryLayout<Int64>.size
        return pread(descriptor, &number, size, 0) == size ? Int(number) : 0
    }

    func write(_ value: Int) throws {
        var number = Int64(value)
        let size = MemoryLayout<Int64>.size
        guard pwrite(descriptor, &number, size, 0) == size else {
            throw ChaosFailure("the number \(value) cannot be written: \(String(cString: strerror(errno)))")
        }
    }
}

/// What a client was told that it should never be told, a line each, in a file that outlives it. So many of each run.
final class ChaosNotes: Sendable {
    private static let limit = 20
    private let descriptor: Int32
    private let count = Atomic(0)

    init(_ path: String) throws {
        descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw ChaosFailure("\(path): \(String(cString: strerror(errno)))") }
    }

    deinit { close(descriptor) }

    func note(_ text: String) {
        guard count.wrappingAdd(1, ordering: .relaxed).oldValue < Self.limit else { return }
        let line = Array("\(text)\n".utf8)
        _ = line.withUnsafeBytes { Self.put(descriptor, $0) }
    }

    private static func put(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
        write(descriptor, bytes.baseAddress, bytes.count)
    }
}
