import CChildProcess
import Platform
import TestSupport
import Testing

@testable import RelayNetwork

@Suite("Network: file locks and other processes", .realProcesses)
struct FileLockTests {
    @Test("A lock is free as soon as it is given back, though a process that is just starting has copies of all files")
    func forked() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path + "/lock"
        var lock = try FileLock.attempt(path, .exclusive)
        try #require(lock != nil)
        var release: Int32 = -1
        let child = child_hold(&release)
        try #require(child > 0)
        defer {
            close(release)
            child_reap(child)
        }
        #expect(try FileLock.isHeld(path, against: .shared))
        lock = nil
        #expect(try !FileLock.isHeld(path, against: .exclusive))
    }
}
