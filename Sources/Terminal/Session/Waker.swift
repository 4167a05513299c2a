import CTerminal
import Platform
import Synchronization

/// Wakes the thread that waits in `TerminalSession.wait`, from any thread.
///
/// Any number of calls before the thread looks count as one and write one byte. It may outlive its session.
public final class Waker: Sendable {
    let readEnd: Int32
    private let writeEnd: Int32
    private let isAwake = Atomic(false)

    init() throws(TerminalError) {
        var ends: [Int32] = [-1, -1]
        guard cterminal_make_pipe(&ends) else { throw .system(errno) }
        readEnd = ends[0]
        writeEnd = ends[1]
    }

    deinit {
        close(readEnd)
        close(writeEnd)
    }

    /// Makes the current or next `wait` return `.woken`.
    public func wake() {
        guard !isAwake.exchange(true, ordering: .acquiringAndReleasing) else { return }
        var byte: UInt8 = 0
        _ = write(writeEnd, &byte, 1)
    }

    /// Consumes the pending call, if there is one; a later call wakes again.
    func take() {
        var bytes: (UInt64, UInt64) = (0, 0)
        _ = read(readEnd, &bytes, 16)
        isAwake.store(false, ordering: .releasing)
    }
}
