#if os(Linux)
    import Foundation
    import Glibc
    import NATS
    import Relay
    import TestSupport
    import Testing

    /// A disk that is really full. What makes it so holds for a process as a whole, so each runs the test in a process
    /// of its own: a file system of four megabytes, where making one is permitted, and a bound on the length of files,
    /// which is permitted everywhere.
    @Suite("Local store: a full disk", .realProcesses)
    struct FullDiskTests {
        private static let folder = "PARLEY_TEST_FULL_DISK"
        private static let kind = "PARLEY_TEST_FULL_DISK_KIND"
        private static let environment = ProcessInfo.processInfo.environment

        @Test(
            "B9 a file system that is full is told once, and what waits is kept when there is room again",
            .enabled(if: Probe.canMount, "\(Probe.missing)"))
        func fileSystem() async throws {
            guard Self.environment[Self.folder] == nil else { return }
            let directory = try TemporaryDirectory("full")
            let mount = ["-rm", "sh", "-c", #"mount -t tmpfs -o size=4m tmpfs "$1" && shift && exec "$@""#, "sh"]
            try await OwnProcess.run(
                "FullDiskTests/inside", under: ["unshare"] + mount + [directory.path],
                environment: [Self.folder: directory.path, Self.kind: "file system"])
        }

        @Test("B9 a bound on the length of files, as quotas have it, is told once as well")
        func bound() async throws {
            guard Self.environment[Self.folder] == nil else { return }
            let directory = try TemporaryDirectory("full")
            try await OwnProcess.run(
                "FullDiskTests/inside", environment: [Self.folder: directory.path, Self.kind: "bound"])
        }

        private static func line(_ sequence: UInt64) -> KeptMessage {
            KeptMessage(
                place: KeptPlace(stream: StreamIdentity(name: "N_stream", incarnation: 1), sequence: sequence),
                topic: "chat.lobby", time: Timestamp(milliseconds: 0),
                payload: [UInt8](repeating: UInt8(truncatingIfNeeded: sequence), count: 4_000))
        }

        /// Leaves little room, and gives back what makes room again.
        private static func fill(_ folder: String, store: String) throws -> () throws -> Void {
            guard environment[kind] == "file system" else {
                // The signal would end the process instead of failing the call.
                _ = signal(SIGXFSZ, SIG_IGN)
                let attributes = try FileManager.default.attributesOfItem(atPath: store + "-wal")
                let length = try #require(attributes[.size] as? Int)
                try limitFiles(to: rlim_t(max(length, 200_000) + 100_000))
                return { try limitFiles(to: nil) }
            }
            let ballast = folder + "/ballast"
            let descriptor = open(ballast, O_RDWR | O_CREAT, 0o600)
            try #require(descriptor >= 0)
            defer { close(descriptor) }
            let block = [UInt8](repeating: 0xFF, count: 16_384)
            var length = 0
            while true {
                let count = block.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
                guard count > 0 else { break }
                length += count
            }
            try #require(length > 200_000 && length < 4 << 20)
            try #require(ftruncate(descriptor, off_t(length - 100_000)) == 0)
            return { try FileManager.default.removeItem(atPath: ballast) }
        }

        private static func limitFiles(to bytes: rlim_t?) throws {
            var limit = rlimit()
            let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
            try #require(getrlimit(resource, &limit) == 0)
            limit.rlim_cur = bytes ?? limit.rlim_max
            try #require(setrlimit(resource, &limit) == 0)
        }

        @Test(
            "A full disk (only in a process of its own)",
            .enabled(if: environment[folder] != nil, "the tests before this one run it in processes of their own"))
        func inside() async throws {
            let folder = try #require(Self.environment[Self.folder])
            let path = folder + "/alice.sqlite"
            let store = try LocalStore.open(path)
            await store.append([Self.line(1)])
            try await store.flush()
            var news = store.news.makeAsyncIterator()
            let makeRoom = try Self.fill(folder, store: path)

            await store.append((UInt64(2)...400).map { Self.line($0) })
            await #expect(throws: RelayError.self) { try await store.flush() }
            await #expect(throws: RelayError.self) { try await store.flush() }
            guard case .failing(let error)? = await news.next() else {
                Issue.record("nothing was told")
                return
            }
            #expect(error.words.contains(path) && error.words.contains("the disk"), "\(error.words)")
            #expect(RongCloudCode(error).rawValue == 33_002)
            // What is there can be read, and nothing of the rest is there in part.
            #expect(try await store.messages(of: TopicPattern(">"), limit: 1_000).messages.map(\.place.sequence) == [1])
            let lines = (1...400).map { "\($0) " + String(repeating: "x", count: 4_000) }
            await #expect(throws: RelayError.self) { try await store.commit(lines.map { .line(KeptLine($0)) }) }

            try makeRoom()
            try await store.flush()
            #expect(await news.next() == .recovered(notKept: 0))
            let kept = try await store.messages(of: TopicPattern(">"), limit: 1_000).messages
            #expect(kept.map(\.place.sequence) == Array(1...400) && kept.last == Self.line(400))
            try await store.close()
            let again = try LocalStore.open(path)
            #expect(again.opening == .found)
            #expect(try await again.status().messages == 400)
            try await again.close()
        }
    }
#endif
