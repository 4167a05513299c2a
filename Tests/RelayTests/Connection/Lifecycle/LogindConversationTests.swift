import NATS
import TestSupport
import Testing

@testable import Relay

@Suite("Lifecycle: what is said with logind")
struct LogindConversationTests {
    private static let session = "/org/freedesktop/login1/session/_32"

    // MARK: Bytes

    private static func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.filter { !$0.isWhitespace }.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }

    /// Written by libdbus.
    private static let getSession = bytes(
        """
        6c01000109000000020000008700000001016f00170000002f6f72672f667265656465736b746f702f6c6f67696e3100020173001e000000
        6f72672e667265656465736b746f702e6c6f67696e312e4d616e616765720000030173000a00000047657453657373696f6e000000000000
        06017300160000006f72672e667265656465736b746f702e6c6f67696e3100000801670001730000040000006175746f00
        """)
    /// Written by libdbus.
    private static let woke = bytes(
        """
        6c04010104000000020000006700000001016f00170000002f6f72672f667265656465736b746f702f6c6f67696e3100020173001e000000
        6f72672e667265656465736b746f702e6c6f67696e312e4d616e616765720000030173000f00000050726570617265466f72536c65657000
        080167000162000000000000
        """)
    /// What libdbus and sd-bus take for “true”, as an answer to their second call.
    private static let locked = bytes(
        """
        6c02010108000000020000002d000000050175000200000006017300040000003a312e370000000008016700017600000701730004000000
        3a312e32000000000162000001000000
        """)

    private static func call(
        _ member: String, _ interface: String, at path: String, serial: UInt32, _ arguments: String...
    ) -> DBusMessage {
        var call = DBusMessage(kind: .call, serial: serial)
        call.path = path
        call.interface = interface
        call.member = member
        call.destination = "org.freedesktop.login1"
        call.signature = String(repeating: "s", count: arguments.count)
        for argument in arguments { call.body.add(argument) }
        return call
    }

    @Test("A call has the bytes that libdbus writes, and what libdbus writes is read")
    func bytes() throws {
        let call = Self.call(
            "GetSession", "org.freedesktop.login1.Manager", at: "/org/freedesktop/login1", serial: 2, "auto")
        #expect(call.bytes == Self.getSession)
        var received = Self.getSession + Self.woke + Self.locked
        #expect(try DBusMessage.take(from: &received) == call)
        let signal = try #require(try DBusMessage.take(from: &received))
        #expect(signal.kind == .signal && signal.member == "PrepareForSleep" && signal.path == call.path)
        var sleeps = signal.body.reader
        #expect(signal.signature == "b" && sleeps.number() == 0)
        let answer = try #require(try DBusMessage.take(from: &received))
        var value = answer.body.reader
        #expect(answer.kind == .answer && answer.answered == 2 && answer.signature == "v")
        #expect(value.signature() == "b" && value.number() == 1 && received.isEmpty)
    }

    @Test("Of bytes that are no message, or one that is too large, nothing is read, and nothing crashes")
    func malformed() throws {
        var random = SeededGenerator(seed: 9)
        for original in [Self.getSession, Self.woke, Self.locked] {
            for count in 0..<original.count {
                var part = Array(original.prefix(count))
                let message = try DBusMessage.take(from: &part)
                #expect(message == nil && part.count == count)
            }
            for _ in 0..<1_000 {
                var bytes = original
                for _ in 0..<3 {
                    let place = Int.random(in: 0..<bytes.count, using: &random)
                    bytes[place] = .random(in: 0...255, using: &random)
                }
                let count = bytes.count
                let message = try? DBusMessage.take(from: &bytes)
                // What is read is taken out; what is not stays.
                #expect(message == nil || bytes.count < count)
            }
        }
        var large = Self.woke
        large[7] = 1
        let message = try? DBusMessage.take(from: &large)
        #expect(message == nil && large.count == Self.woke.count)
        // More of it makes no message of it.
        large += [UInt8](repeating: 0, count: 1 << 20)
        #expect((try? DBusMessage.take(from: &large)) == nil)
    }

    @Test("An address names its sockets, whatever else it names, and characters that stand for others")
    func addresses() {
        #expect(LogindSource.paths(in: "unix:path=/run/dbus/system_bus_socket") == ["/run/dbus/system_bus_socket"])
        let several = "tcp:host=a,port=1;unix:guid=00,path=/a%20b;unix:abstract=/tmp/x;unix:path=/c,guid=1"
        #expect(LogindSource.paths(in: several) == ["/a b", "/c"])
        #expect(LogindSource.paths(in: "").isEmpty && LogindSource.paths(in: "unix:").isEmpty)
    }

    // MARK: The conversation

    /// A conversation, and what the bus has been told in it.
    private struct Talk {
        var conversation = LogindConversation()
        var sent: [DBusMessage] = []
        var told: [LifecycleEvent] = []
        var hasEnded = false

        /// Up to the first word about the lock.
        static func begun(isLocked: Bool = false) throws -> Talk {
            var talk = Talk()
            try talk.hear(Array("OK 0123456789abcdef0123456789abcdef\r\n".utf8))
            try talk.answer("Hello", "s") { $0.add(":1.7") }
            try talk.answer("GetSession", "o") { $0.add(LogindConversationTests.session) }
            try talk.say(isLocked: isLocked)
            return talk
        }

        mutating func hear(_ bytes: [UInt8]) throws {
            // However they come.
            for byte in bytes { try carryOut(conversation.take([byte])) }
        }

        mutating func carryOut(_ actions: [LogindConversation.Action]) throws {
            for action in actions {
                switch action {
                case .send(var bytes):
                    if bytes == Array("BEGIN\r\n".utf8) { continue }
                    while let message = try DBusMessage.take(from: &bytes) { sent.append(message) }
                case .tell(let event): told.append(event)
                case .end: hasEnded = true
                }
            }
        }

        /// Answers the newest call of this name.
        mutating func answer(_ member: String, _ signature: String, _ write: (inout DBusBody) -> Void) throws {
            let call = try #require(sent.last { $0.member == member })
            var answer = DBusMessage(kind: .answer, serial: 1)
            answer.answered = call.serial
            answer.signature = signature
            write(&answer.body)
            try hear(answer.bytes)
        }

        mutating func say(isLocked: Bool) throws {
            try answer("Get", "v") { body in
                body.add(signature: "b")
                body.add(isLocked ? 1 : 0)
            }
        }

        mutating func signal(_ member: String, at path: String, mentions property: String) throws {
            var signal = DBusMessage(kind: .signal, serial: 1)
            signal.path = path
            signal.member = member
            signal.body = DBusBody("org.freedesktop.login1.Session", property)
            try hear(signal.bytes)
        }

        var questions: Int { sent.count { $0.member == "Get" } }
    }

    @Test("The greeting has the user's number, each digit by its two hexadecimal ones")
    func greeting() {
        let text = String(decoding: LogindConversation.greeting(of: 1000), as: UTF8.self)
        #expect(text == "\0AUTH EXTERNAL 31303030\r\n")
    }

    @Test("Nobody is started to answer, and what is heard of is what logind says of this session and of sleep")
    func rules() throws {
        let talk = try Talk.begun()
        #expect(talk.sent.map(\.member) == ["Hello", "GetSession", "AddMatch", "AddMatch", "Get"])
        #expect(talk.sent.allSatisfy { $0.flags == DBusMessage.startsNobody })
        #expect(Set(talk.sent.map(\.serial)).count == 5)
        let rules = talk.sent.filter { $0.member == "AddMatch" }.compactMap { call -> String? in
            var body = call.body.reader
            return body.text()
        }
        #expect(rules.allSatisfy { $0.hasPrefix("type='signal',sender='org.freedesktop.login1',path='/org/") })
        #expect(rules.last?.contains("path='\(Self.session)',interface='org.freedesktop.DBus.Properties'") == true)
        #expect(talk.told.isEmpty && !talk.hasEnded)
    }

    @Test("B21 a lock is told once as the background and its end as the foreground, and the wake as worth a look")
    func lock() throws {
        var talk = try Talk.begun()
        for isLocked in [true, true, false, true] {
            try talk.signal("PropertiesChanged", at: Self.session, mentions: "LockedHint")
            try talk.say(isLocked: isLocked)
        }
        #expect(talk.told == [.background, .foreground, .background] && talk.questions == 5)
        try talk.hear(Self.woke)
        #expect(talk.told.last == .probe)
        try talk.carryOut(talk.conversation.closed())
        #expect(talk.told.last == .foreground && talk.told.count == 5)
    }

    @Test("What is told while a question is open is asked once more behind its answer")
    func together() throws {
        var talk = try Talk.begun()
        for _ in 0..<3 { try talk.signal("PropertiesChanged", at: Self.session, mentions: "LockedHint") }
        #expect(talk.questions == 2)
        try talk.say(isLocked: true)
        #expect(talk.questions == 3 && talk.told == [.background])
        try talk.say(isLocked: false)
        #expect(talk.questions == 3 && talk.told == [.background, .foreground])
    }

    @Test("Other sessions, other properties and other signals are nothing, and a lock from the start is no news")
    func nothing() throws {
        var talk = try Talk.begun(isLocked: true)
        try talk.signal("PropertiesChanged", at: "/org/freedesktop/login1/session/_39", mentions: "LockedHint")
        try talk.signal("PropertiesChanged", at: Self.session, mentions: "IdleHint")
        try talk.signal("Lock", at: Self.session, mentions: "LockedHint")
        #expect(talk.questions == 1 && talk.told.isEmpty)
        try talk.signal("PropertiesChanged", at: Self.session, mentions: "LockedHint")
        try talk.say(isLocked: false)
        #expect(talk.told == [.foreground])
    }

    @Test("A bus that refuses, an error and bytes that mean nothing end the conversation, and nobody is left away")
    func ends() throws {
        for words in ["REJECTED EXTERNAL\r\n", String(repeating: "x", count: 1_000)] {
            var talk = Talk()
            try talk.hear(Array(words.utf8))
            #expect(talk.hasEnded && talk.sent.isEmpty)
        }
        for isGarbage in [true, false] {
            var talk = try Talk.begun()
            try talk.signal("PropertiesChanged", at: Self.session, mentions: "LockedHint")
            try talk.say(isLocked: true)
            if isGarbage {
                try talk.hear([UInt8](repeating: 0x78, count: 64))
            } else {
                try talk.signal("PropertiesChanged", at: Self.session, mentions: "LockedHint")
                var error = DBusMessage(kind: .error, serial: 1)
                error.answered = talk.sent.last?.serial
                try talk.hear(error.bytes)
            }
            #expect(talk.hasEnded && talk.told == [.background, .foreground])
            let count = talk.sent.count
            try talk.hear(Self.woke)
            #expect(talk.sent.count == count && talk.told.count == 2)
        }
    }
}
