import Platform
import TestSupport
import Testing

@testable import Relay

@Suite("Local store: trouble")
struct StoreTroubleTests {
    /// A store with 1,500 messages that were received, two thirds of them read, a draft, a letter and an outbox,
    /// closed.
    private func filled() async throws -> StoreFixture {
        let (fixture, store) = try StoreFixture.opened()
        try await store.commit([
            .outbox(StoreFixture.publish("1")), .draft(conversation: "chat.lobby", "half"), .join("chat.lobby"),
            .cursor("chat.lobby", StoreFixture.place(1_500)), .readMark("chat.lobby", StoreFixture.place(1_000)),
            .letter(
                KeptLetter(
                    direction: .received, id: "1", person: "carol", postbox: "personal",
                    time: Timestamp(milliseconds: 1), text: "a letter")),
        ])
        let text = String(repeating: "a long line ", count: 20)
        for part in 0..<15 {
            let start = UInt64(part) * 100
            try await store.keep((start + 1...start + 100).map { StoreFixture.line($0, text) })
        }
        try await store.close()
        return fixture
    }

    /// What a person wrote is there, and the store works.
    private func check(_ fixture: StoreFixture) async throws {
        let store = try LocalStore.open(fixture.path, clock: fixture.time)
        let rescue = try #require(store.opening.rescue)
        #expect(rescue.entries == 6)
        #expect(try await store.outbox() == [StoreFixture.publish("1")])
        #expect(try await store.desk().drafts == ["chat.lobby": "half"])
        #expect(try await store.desk().joined == ["chat.lobby"])
        #expect(try await store.letters(limit: 9).map(\.text) == ["a letter"])
        #expect(try await store.search(SearchQuery("letter")).hits.count == 1)
        // The subscription goes on behind what was read, and nothing is shown as if it were here.
        #expect(try await store.cursor(of: "chat.lobby") == StoreFixture.place(1_000))
        #expect(try await store.received(of: TopicPattern("chat.lobby"), limit: 100).messages.isEmpty)
        #expect(try await store.status().messages == 0)
        try await store.keep([StoreFixture.line(9_999, "unheard of")])
        try await eventually("the words") { try await store.search(SearchQuery("unheard")).hits.count == 1 }
        try await store.close()
        #expect(try LocalStore.open(fixture.path).opening.isRecreated == false)
    }

    @Test("B9 damage that is found in use has the store put aside at the next opening")
    func damagedInside() async throws {
        let fixture = try await filled()
        let url = URL(fileURLWithPath: fixture.path)
        var bytes = try Data(contentsOf: url)
        // Wherever the message is: how the file is laid out depends on when the search's words were written.
        while let place = bytes.range(of: Data("id-750".utf8)) {
            let page = place.lowerBound / 4_096 * 4_096
            bytes.replaceSubrange(page..<page + 4_096, with: Data(repeating: 0xFF, count: 4_096))
        }
        try bytes.write(to: url)
        let store = try fixture.open()
        let error = await #expect(throws: RelayError.self) { try await store.sequences() }
        #expect(error?.words.contains("it is damaged; start again") == true)
        try? await store.close()
        try await check(fixture)
        #expect(!StoreFiles.isSuspect(fixture.path))
    }

    @Test("A damaged store is left alone while another program has it open")
    func inUse() async throws {
        let fixture = try StoreFixture()
        let use = try StoreFiles.use(fixture.path)
        let content = Data(String(repeating: "damage", count: 1_000).utf8)
        try content.write(to: URL(fileURLWithPath: fixture.path))
        #expect(
            throws: RelayError.storage(
                "\(fixture.path): it is damaged, and another program has it open; end that one and start again")
        ) { try fixture.open() }
        #expect(try Data(contentsOf: URL(fileURLWithPath: fixture.path)) == content)
        withExtendedLifetime(use) {}
    }

    #if os(Linux)
        @Test("A store that is opened twice in one process keeps its locks, without which another one removes its log")
        func openedTwice() async throws {
            let fixture = try StoreFixture()
            let first = try fixture.open()
            try await first.keep([StoreFixture.line(1)])
            // File systems made of layers count files in another way.
            guard try isLocked(fixture.path) else { return try await first.close() }
            let second = try fixture.open()
            #expect(try isLocked(fixture.path))
            try await second.close()
            #expect(try isLocked(fixture.path))
            try await first.close()
        }

        /// Whether this process has a lock on a file, as the kernel lists them.
        private func isLocked(_ path: String) throws -> Bool {
            var status = stat()
            let code = stat(path, &status)
            try #require(code == 0)
            let locks = try String(contentsOfFile: "/proc/locks", encoding: .utf8)
            return locks.split(separator: "\n").contains {
                $0.contains("POSIX") && $0.contains(" \(getpid()) ") && $0.contains(":\(status.st_ino) ")
            }
        }
    #endif

    @Test("B9 a store in a folder that may not be written is read", .enabled(if: geteuid() != 0))
    func readOnly() async throws {
        let fixture = try await filled()
        chmod(fixture.folder.path, 0o500)
        defer { chmod(fixture.folder.path, 0o700) }
        let store = try fixture.open()
        #expect(store.opening == .readOnly(path: fixture.path))
        #expect(try await store.sequences().count == 1_500)
        #expect(try await store.desk().drafts == ["chat.lobby": "half"])
        await #expect(throws: StoreFailure.readOnly(fixture.path)) { try await store.commit([.join("chat.qa")]) }
        try await store.close()
    }
}
