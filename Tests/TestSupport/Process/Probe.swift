import Foundation

/// What a program says to a quick question: for the condition of a test, which is looked at before the test has its
/// turn.
package enum Probe {
    /// Whether a process can have a network of its own.
    package static let canMakeNetworks = output("unshare", "-rn", "ip", "link", "set", "lo", "up") != nil
    /// Whether a process can have file systems of its own, and make them read-only.
    package static let canMount =
        output(
            "unshare", "-rm", "sh", "-c",
            "mount -t tmpfs tmpfs /tmp && mount --bind /tmp /tmp && mount -o remount,bind,ro /tmp") != nil

    /// Why a test that needs either is skipped.
    package static let missing = "there is no unshare, no mount or no ip here, or no right to use it"

    /// What a program writes; nil where it cannot be run, or fails.
    package static func output(_ words: String...) -> String? {
        let (process, pipe) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = words
        process.standardInput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        process.standardOutput = pipe
        guard (try? process.run()) != nil else { return nil }
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return process.terminationStatus == 0 ? String(decoding: output, as: UTF8.self) : nil
    }
}
