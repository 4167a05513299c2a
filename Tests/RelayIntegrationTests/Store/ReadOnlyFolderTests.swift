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
            "B9 in a folder that is read-only, by root too, a store that is there is read, and a new one is refused by name",
            .enabled(if: Probe.canMount, "\(Probe.missing)"))
        func readOnly() async throws {
            guard Self.environment[Self.folder] == nil else { return }
            let directory = try TemporaryDirectory("read-only")
            let path = directory.path("there?.sqlite")
            let store = try LocalStore.open(path)
            await store.append((UInt64(1)...9).map { Self.line($0) })
            let unsent = KeptPublish(
                message: OutboxMessage(id: "unsent", topic: "chat.lobby", payload: [0x80]),
                since: Timestamp(milliseconds: 0))
            try await store.commit([
                .draft(conversation: "chat.lobby", "half a thought"), .outbox(unsent),
                .outboxNotSent(id: "unsent", "the session ended", mayBeStored: false),
            ])
            try await store.flush()
            // As the end of the process would leave it, with what is still in its log.
            for ending in ["", "-wal", "-shm"] {
                let (from, to) = (path + ending, directory.path("killed?.sqlite") + ending)
                try Data(contentsOf: URL(fileURLWithPath: from)).write(to: URL(fileURLWithPath: to))
            }
            try await store.close()
            let damage = Data(String(repeating: "damage", count: 1_000).utf8)
            try damage.write(to: URL(fileURLWithPath: directory.path("damaged.sqlite")))
            let before = try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()

            let mount = [
                "-rm", "sh", "-c",
                #"mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@""#, "sh", directory.path,
            ]
            try await OwnProcess.run(
                "ReadOnlyFolderTests/inside", under: ["unshare"] + mount, environment: [Self.folder: directory.path])

            // Nothing was made there, and what was there is whole.
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() == before)
            let again = try LocalStore.open(path)
            #expect(again.opening == .found)
            let kept = try await again.messages(of: TopicPattern(">"), limit: 100).messages
            #expect(kept == (UInt64(1)...9).map { Self.line($0) })
            try await again.close()
        }

        @Test(
            "A read-only folder (only in a process of its own)",
            .enabled(if: environment[folder] != nil, "the test before this one runs it in a process of its own"))
        func inside() async throws {
            let folder = try #require(Self.environment[Self.folder])
            #expect(throws: RelayError.storage("\(folder)/new.sqlite: Read-only file system")) {
                try LocalStore.open(folder + "/new.sqlite")
            }
            #expect(
                throws: RelayError.storage(
                    "\(folder)/damaged.sqlite: it is damaged; allow writing to the file and its folder and start again: "
                        + "it is then put aside, and what you wrote is carried over")
            ) { try LocalStore.open(folder + "/damaged.sqlite") }
            for name in ["there?.sqlite", "killed?.sqlite"] {
                let path = folder + "/" + name
                let store = try LocalStore.open(path)
                #expect(store.opening == .readOnly(path: path) && !store.opening.isRecreated)
                let lines = (UInt64(1)...9).map { Self.line($0) }
                #expect(try await store.messages(of: TopicPattern(">"), limit: 100).messages == lines)
                #expect(try await store.search(SearchQuery("in:chat.lobby")).hits.count == 9)
                #expect(try await store.desk().drafts == ["chat.lobby": "half a thought"])
                // What would change it is refused, and what arrives is not kept.
                let refusal = RelayError.storage(
                    "\(path): it may not be written; allow writing to the file and its folder")
                #expect(store.opening.error == refusal)
                await #expect(throws: refusal) { try await store.commit([.join("chat.qa")]) }
                await #expect(throws: refusal) { try await store.forget(TopicPattern("chat.lobby")) }
                #expect(await store.append([Self.line(10)]) == false)
                try await store.flush()
                #expect(try await store.messages(of: TopicPattern(">"), limit: 100).messages == lines)
                try await store.close()
                // What was not sent is listed, and stays.
                var configuration = RelayConfiguration(servers: .fixed([]), user: "alice")
                configuration.store = .file(path)
                let client = RelayClient(configuration: configuration)
                #expect(try await client.notSent().map(\.id) == ["unsent"])
                await #expect(throws: refusal) { try await client.sendAgain(id: "unsent") }
                await #expect(throws: refusal) { try await client.drop(ids: ["unsent"]) }
                #expect(try await client.notSent().map(\.reason) == ["the session ended"])
                await client.close()
            }
            #expect(RongCloudCode(RelayError.storage(folder)).rawValue == 33_002)
        }
    }
#endif
