#if os(Linux)
    import Foundation
    import Relay
    import TestSupport
    import Testing

    /// A folder that really takes nothing, from nobody: it is mounted read-only, in a process of its own, since
    /// permissions do not bind root.
    @Suite("Local store: a read-only folder", .realProcesses)
    struct ReadOnlyFolderTests {
        private static let folder = "PARLEY_TEST_READ_ONLY"
        private static let environment = ProcessInfo.processInfo.environment

        private static func line(_ sequence: UInt64) -> KeptMessage {
            KeptMessage(
                place: KeptPlace(stream: StreamIdentity(name: "N_stream", incarnation: 1), sequence: sequence),
                topic: "chat.lobby", time: Timestamp(milliseconds: 0), payload: [UInt8(truncatingIfNeeded: sequence)])
        }

        @Test(
            "B9 a folder that is read-only is named, by root too, for a new store and for one that there is",
            .enabled(if: Probe.canMount, "\(Probe.missing)"))
        func readOnly() async throws {
            guard Self.environment[Self.folder] == nil else { return }
            let directory = try TemporaryDirectory("read-only")
            let path = directory.path("there.sqlite")
            let store = try LocalStore.open(path).store
            await store.append((UInt64(1)...9).map { Self.line($0) })
            try await store.close()
            let before = try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()

            let mount = [
                "-rm", "sh", "-c",
                #"mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@""#, "sh", directory.path,
            ]
            let test = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            let arguments = ["--testing-library", "swift-testing", "--filter", "ReadOnlyFolderTests/inside"]
            let result = try await ChildProcess.run(
                "unshare", mount + [test] + arguments, environment: [Self.folder: directory.path],
                deadline: .seconds(120))
            #expect(
                result.status.isSuccess && (result.output + result.diagnostics).contains("with 1 test in"), "\(result)")

            // Nothing was made there, and what was there is whole.
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() == before)
            let again = try LocalStore.open(path)
            #expect(!again.isRecreated && again.store.rescue == nil)
            let kept = try await again.store.messages(of: TopicPattern(">"), limit: 100).messages
            #expect(kept == (UInt64(1)...9).map { Self.line($0) })
            try await again.store.close()
        }

        @Test(
            "A read-only folder (only in a process of its own)",
            .enabled(if: environment[folder] != nil, "the test before this one runs it in a process of its own"))
        func inside() throws {
            let folder = try #require(Self.environment[Self.folder])
            for name in ["new.sqlite", "there.sqlite"] {
                let path = folder + "/" + name
                #expect(throws: RelayError.storage("\(path): Read-only file system")) {
                    try LocalStore.open(path)
                }
            }
            #expect(RongCloudCode(RelayError.storage(folder)).rawValue == 33_002)
        }
    }
#endif
