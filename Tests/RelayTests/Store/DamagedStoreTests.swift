import GRDB
import NATS
import Platform
import TestSupport
import Testing

@testable import Relay

@Suite("Local store: random damage", .processorBound)
struct DamagedStoreTests {
    @Test("B68 a hundred damaged stores neither hang nor end the program, nor lose what waits in an undamaged part")
    func hundred() async throws {
        // Always the same damage, unless PARLEY_TEST_SEED names another.
        let named = ProcessInfo.processInfo.environment["PARLEY_TEST_SEED"].flatMap { UInt64($0) }
        let seed = named ?? 14_625_091_284_466_238_679
        print("random damage to stores: seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let template = try await StoreTemplate()
        for number in 0..<100 {
            let fixture = try StoreFixture()
            let damage = try template.damaged(as: number, at: fixture.path, &random)
            let about = Comment(rawValue: "seed \(seed), store \(number): \(damage.words)")
            // What the first start only notices, the second puts aside.
            for start in 1...3 {
                let store: LocalStore
                do {
                    store = try LocalStore.open(fixture.path, clock: fixture.time)
                } catch {
                    Issue.record(Comment(rawValue: "start \(start) failed: \(error), \(about)"))
                    break
                }
                let failures = await Self.use(store)
                let isMended = failures.isEmpty
                #expect(isMended || start < 3, "\(about): \(failures)")
                if isMended {
                    let waiting = try await Set(store.outbox().map(\.message.id))
                    #expect(damage.waiting.subtracting(waiting).isEmpty, about)
                }
                try? await store.close()
                if isMended { break }
            }
        }
    }

    @Test("B68 a store with a NULL where its tables have a text is put aside, and gives back all its other rows")
    func null() async throws {
        let template = try await StoreTemplate()
        for (table, column, isHidden) in [
            ("drafts", "text", false), ("outbox", "payload", false), ("drafts", "text", true), ("facts", "value", true),
        ] {
            let fixture = try StoreFixture()
            try template.write(to: fixture.path)
            try StoreTemplate.writeNull(
                into: column, of: table, at: fixture.path, leavingSchema: isHidden)
            for _ in 1...3 {
                let store = try fixture.open()
                _ = await Self.use(store)
                try? await store.close()
            }
            let store = try fixture.open()
            #expect(await Self.use(store).isEmpty)
            #expect(try await store.outbox().count == StoreTemplate.waiting - (table == "outbox" ? 1 : 0))
            #expect(try await store.desk().drafts.count == 20 - (table == "drafts" ? 1 : 0))
            #expect(try await store.desk().joined == ["chat.lobby"])
            try await store.close()
        }
    }

    @Test(
        "B68 a store in which damage has used up the numbers is put aside, and no full disk is told of",
        arguments: [
            "UPDATE lines SET number = \(Int64.max) WHERE number = (SELECT max(number) FROM lines)",
            "UPDATE sqlite_sequence SET seq = \(Int64.max) WHERE name = 'lines'",
            "UPDATE sqlite_sequence SET seq = 'x' WHERE name = 'lines'",
        ])
    func numbers(damage: String) async throws {
        let fixture = try StoreFixture()
        try await StoreTemplate().write(to: fixture.path)
        let database = try DatabaseQueue(path: fixture.path)
        try await database.write { try $0.execute(sql: damage) }
        try database.close()
        let store = try fixture.open()
        #expect(await Self.use(store).isEmpty)
        #expect(try await store.outbox().count == StoreTemplate.waiting)
        try await store.close()
    }

    @Test("B68 a store that takes longer to be opened than it may is put aside as it is")
    func slow() async throws {
        let fixture = try StoreFixture()
        try await StoreTemplate().write(to: fixture.path)
        let store = try LocalStore.open(fixture.path, clock: fixture.time, within: .zero)
        let rescue = try #require(store.opening.rescue)
        #expect(rescue.entries == 0)
        #expect(await Self.use(store).isEmpty)
        try await store.close()
        // Nothing of it is lost.
        let aside = try LocalStore.open(rescue.path, clock: fixture.time)
        #expect(try await aside.outbox().count == StoreTemplate.waiting)
        try await aside.close()
    }

    /// Does what the chat and the commands do with a store, and says what failed.
    private static func use(_ store: LocalStore) async -> [String] {
        var failures: [String] = []
        func attempt<Value>(_ work: () async throws -> Value) async {
            do { _ = try await work() } catch { failures.append("\(error)") }
        }
        await attempt { try await store.outbox() }
        await attempt { try await store.notSent() }
        await attempt { try await store.desk() }
        await attempt { try await store.cursor(of: "chat.lobby") }
        await attempt { try await store.readMark(of: "chat.lobby") }
        await attempt { try await store.letters(limit: 100) }
        await attempt { try await store.letterPage(limit: 25, nextToken: nil, postbox: nil, owner: "alice") }
        await attempt { try await store.postboxes() }
        await attempt { try await store.readLetters(among: ["1", "2"]) }
        await attempt { try await store.status() }
        await attempt { try await store.messages(of: TopicPattern(">"), limit: 1_000) }
        await attempt { try await store.received(of: TopicPattern("chat.lobby"), limit: 100, acrossHoles: true) }
        await attempt { try await store.newestTime(of: TopicPattern("chat.>")) }
        await attempt {
            try await store.oldest(
                100, of: TopicPattern("chat.>"), in: StoreFixture.stream, 0...1_000,
                from: Timestamp(milliseconds: 100_000), through: nil, bytes: .max)
        }
        await attempt { try await store.search(SearchQuery("hello")) }
        await attempt { try await store.search(SearchQuery("lett")) }
        await attempt {
            try await store.keep([StoreFixture.line(5_000, "new")], [.cursor("chat.lobby", StoreFixture.place(5_000))])
        }
        await attempt { try await store.commit([.draft(conversation: "chat.new", "half"), .line(KeptLine("typed"))]) }
        await attempt { try await store.commit([.draft(conversation: "chat.new", "")]) }
        await attempt { try await store.compact(RetentionPolicy(all: RetentionPolicy.Limit(bytes: 60_000))) }
        return failures
    }

    @Test("B68 what is between two damaged pages comes back whole")
    func between() async throws {
        let fixture = try StoreFixture()
        let undamaged = try await StoreTemplate().writeWithHoles(to: fixture.path)
        for _ in 1...3 {
            let store = try fixture.open()
            _ = await Self.use(store)
            try? await store.close()
        }
        let store = try fixture.open()
        let waiting = try await Set(store.outbox().map(\.message.id))
        #expect(undamaged.subtracting(waiting).isEmpty)
        try await store.close()
    }
}

/// A store with something of everything, as its files are, to be damaged.
private struct StoreTemplate {
    /// How many messages wait in the outbox, of which the last half is in the log alone where there is one.
    static let waiting = 200
    private static let page = 4_096

    private let folder: TemporaryDirectory
    /// The store as a program leaves it that ends, and as one that is killed.
    private let (closed, killed, log): (Data, Data, Data)
    /// The pages without which nobody finds the outbox, and the rows on each of its other pages.
    private let structure: Set<Int>
    private let rows: [Int: Set<String>]

    struct Damage {
        var words: String
        /// What of the outbox is in undamaged parts.
        var waiting: Set<String>
    }

    init() async throws {
        let fixture = try StoreFixture()
        folder = fixture.folder
        func file(_ ending: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: fixture.path + ending)) }
        let first = try fixture.open()
        try await Self.fill(first)
        try await first.close()
        let second = try fixture.open()
        try await second.commit((Self.waiting / 2..<Self.waiting).map { .outbox(Self.publish($0)) })
        try await second.keep((401...450).map { StoreFixture.line($0) })
        (killed, log) = (try file(""), try file("-wal"))
        try await second.close()
        closed = try file("")
        let root = try await Self.root(of: "outbox", at: fixture.path)
        let (inner, leaves) = Self.pages(below: root, of: closed)
        let schema = Self.pages(below: 1, of: closed)
        structure = Set(inner + schema.inner + schema.leaves)
        var rows: [Int: Set<String>] = [:]
        for leaf in leaves {
            let bytes = closed[(leaf - 1) * Self.page..<leaf * Self.page]
            rows[leaf] = Set((0..<Self.waiting).map(Self.id).filter { bytes.firstRange(of: Data($0.utf8)) != nil })
        }
        self.rows = rows
        try #require(leaves.count > 5 && rows.values.reduce(0) { $0 + $1.count } == Self.waiting)
    }

    private static func id(_ number: Int) -> String { "waits-\(1_000 + number)" }

    private static func publish(_ number: Int) -> KeptPublish {
        var publish = StoreFixture.publish(id(number), String(repeating: "typed ", count: 20))
        if number % 7 == 0 { publish.state = .notSent("the session ended") }
        return publish
    }

    private static func fill(_ store: LocalStore) async throws {
        try await store.commit((0..<waiting / 2).map { .outbox(publish($0)) })
        try await store.commit([
            .join("chat.lobby"), .readMark("chat.lobby", StoreFixture.place(7)), .place("chat.lobby"),
            .ignored("eve", true), .muted("chat.noise", true), .choice("clock", true),
        ])
        for number in 0..<20 {
            try await store.commit([
                .draft(conversation: "chat.\(number)", "half a line"), .line(KeptLine("line \(number)")),
                .letter(
                    KeptLetter(
                        direction: .received, id: "\(number)", person: "carol", postbox: "personal",
                        time: Timestamp(milliseconds: Int64(number)), text: "a letter")),
            ])
        }
        for part in 0..<4 {
            let numbers = UInt64(part) * 100 + 1...UInt64(part) * 100 + 100
            let text = String(repeating: "hello ", count: 30)
            try await store.keep(
                numbers.map { StoreFixture.line($0, text) },
                [
                    .received("chat.lobby", StoreFixture.stream, numbers),
                    .cursor("chat.lobby", StoreFixture.place(numbers.upperBound)),
                ])
        }
        try await store.untilSearched()
    }

    /// Writes the store without damage.
    func write(to path: String) throws { try closed.write(to: URL(fileURLWithPath: path)) }

    /// Writes the store with damage of one of eight kinds.
    func damaged(as number: Int, at path: String, _ random: inout SeededGenerator) throws -> Damage {
        var bytes = closed
        var touched: Set<Int> = []
        let pages = bytes.count / Self.page
        var words: String
        func some() -> Int { Int.random(in: 0..<pages, using: &random) }
        switch number % 8 {
        case 0, 1:
            let count = number % 16 < 8 ? 1 : 40
            for _ in 0..<count {
                // Headers, where a page says what is on it, are met as often as all else.
                let place = Bool.random(using: &random) ? Int.random(in: 0..<108, using: &random) : nil
                let offset = some() * Self.page + (place ?? Int.random(in: 0..<Self.page, using: &random))
                bytes[offset] ^= UInt8.random(in: 1...255, using: &random)
                touched.insert(offset / Self.page + 1)
            }
            words = "\(count) bytes changed"
        case 2:
            let start = some()
            let end = min(pages, start + Int.random(in: 1...4, using: &random))
            bytes.replaceSubrange(
                start * Self.page..<end * Self.page, with: Data(count: (end - start) * Self.page))
            touched.formUnion(start + 1...end)
            words = "pages \(start + 1) to \(end) zeroed"
        case 3:
            let count = max(1, some())
            bytes = bytes.prefix(count * Self.page)
            touched.formUnion(count + 1...pages)
            words = "cut behind page \(count)"
        case 4:
            let count = Int.random(in: 1..<bytes.count, using: &random)
            bytes = bytes.prefix(count)
            touched.formUnion(count / Self.page + 1...pages)
            words = "cut behind byte \(count)"
        case 5:
            let (one, other) = (some(), some())
            let (first, second) = (page(one), page(other))
            bytes.replaceSubrange(one * Self.page..<(one + 1) * Self.page, with: second)
            bytes.replaceSubrange(other * Self.page..<(other + 1) * Self.page, with: first)
            if one != other { touched = [one + 1, other + 1] }
            words = "pages \(one + 1) and \(other + 1) exchanged"
        case 6: return try withNull(at: path, &random)
        default: return try withLog(at: path, &random)
        }
        try bytes.write(to: URL(fileURLWithPath: path))
        let isFound = touched.isDisjoint(with: structure)
        let waiting = rows.filter { isFound && !touched.contains($0.key) }.values.reduce(into: Set()) {
            $0.formUnion($1)
        }
        words += ", \(waiting.count) rows of the outbox undamaged"
        return Damage(words: words, waiting: waiting)
    }

    private func page(_ index: Int) -> Data { Data(closed[index * Self.page..<(index + 1) * Self.page]) }

    private func withNull(at path: String, _ random: inout SeededGenerator) throws -> Damage {
        let columns = [
            ("drafts", "text"), ("outbox", "place"), ("joined", "name"), ("cursors", "stream"), ("cursors", "sequence"),
            ("letters", "id"), ("lines", "text"), ("streams", "name"), ("topics", "name"), ("messages", "payload"),
            ("read_marks", "incarnation"), ("choices", "value"), ("facts", "value"), ("unsearched", "first"),
        ]
        let (table, column) = columns.randomElement(using: &random) ?? columns[0]
        let isLeft = Bool.random(using: &random)
        try write(to: path)
        try Self.writeNull(into: column, of: table, at: path, leavingSchema: isLeft)
        var waiting = Set((0..<Self.waiting).map(Self.id))
        if table == "outbox" { waiting.remove(Self.id(0)) }
        return Damage(
            words: "a NULL in \(table).\(column)\(isLeft ? ", which its schema allows" : "")", waiting: waiting)
    }

    /// Damages SQLite's log, before which half of the outbox was in the file already.
    private func withLog(at path: String, _ random: inout SeededGenerator) throws -> Damage {
        try killed.write(to: URL(fileURLWithPath: path))
        var bytes = log
        let place = Int.random(in: 0..<bytes.count, using: &random)
        let isCut = Bool.random(using: &random)
        if isCut { bytes = bytes.prefix(place) } else { bytes[place] ^= 0xFF }
        try bytes.write(to: URL(fileURLWithPath: path + "-wal"))
        return Damage(
            words: "the log \(isCut ? "cut" : "changed") at byte \(place)",
            waiting: Set((0..<Self.waiting / 2).map(Self.id)))
    }

    /// Has a row without a value in a column that must have one.
    ///
    /// - Parameter isLeft: whether the schema says afterwards that the column may have none.
    static func writeNull(
        into column: String, of table: String, at path: String, leavingSchema isLeft: Bool
    ) throws {
        func change(_ sql: String, _ arguments: StatementArguments = []) throws {
            let database = try DatabaseQueue(path: path)
            defer { try? database.close() }
            try database.writeWithoutTransaction { database in
                try database.execute(sql: "PRAGMA writable_schema = ON")
                try database.execute(sql: sql, arguments: arguments)
            }
        }
        let database = try DatabaseQueue(path: path)
        let schema = try database.read {
            try String.fetchOne($0, sql: "SELECT sql FROM sqlite_master WHERE name = ?", arguments: [table])
        }
        try database.close()
        let lax = schema?.replacing(" NOT NULL", with: "")
        try change("UPDATE sqlite_master SET sql = ? WHERE name = ?", [lax, table])
        try change("UPDATE \(table) SET \(column) = NULL WHERE rowid = (SELECT min(rowid) FROM \(table))")
        if !isLeft { try change("UPDATE sqlite_master SET sql = ? WHERE name = ?", [schema, table]) }
    }

    private static func root(of table: String, at path: String) async throws -> Int {
        let database = try DatabaseQueue(path: path)
        defer { try? database.close() }
        let root = try await database.read {
            try Int.fetchOne($0, sql: "SELECT rootpage FROM sqlite_master WHERE name = ?", arguments: [table])
        }
        return try #require(root)
    }

    /// The pages of a table, by SQLite's file format.
    private static func pages(below root: Int, of file: Data) -> (inner: [Int], leaves: [Int]) {
        let start = (root - 1) * page
        let head = start + (root == 1 ? 100 : 0)
        func number(_ offset: Int, _ bytes: Int) -> Int {
            file[offset..<offset + bytes].reduce(0) { $0 << 8 | Int($1) }
        }
        guard file[head] == 5 else { return ([], [root]) }
        let cells = (0..<number(head + 3, 2)).map { number(start + number(head + 12 + 2 * $0, 2), 4) }
        var (inner, leaves) = ([root], [Int]())
        for child in cells + [number(head + 8, 4)] {
            let below = pages(below: child, of: file)
            inner += below.inner
            leaves += below.leaves
        }
        return (inner, leaves)
    }

    /// Writes the store without every second page of the outbox.
    ///
    /// - Returns: what is on the others.
    func writeWithHoles(to path: String) throws -> Set<String> {
        var bytes = closed
        var undamaged: Set<String> = []
        let leaves = rows.filter { !$0.value.isEmpty }.sorted { ($0.value.min() ?? "") < ($1.value.min() ?? "") }
        for (number, leaf) in leaves.enumerated() {
            if number % 2 == 0 {
                undamaged.formUnion(leaf.value)
            } else {
                bytes.replaceSubrange((leaf.key - 1) * Self.page..<leaf.key * Self.page, with: Data(count: Self.page))
            }
        }
        try bytes.write(to: URL(fileURLWithPath: path))
        return undamaged
    }
}
