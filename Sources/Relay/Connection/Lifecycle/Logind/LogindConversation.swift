/// What is said with the system's bus, so that logind tells of a locked screen and of the machine's wake: a pure value.
/// Bytes that came go in, and what to do goes out.
///
/// Whoever starts a program is there: a screen that is locked from the start is no news. What a signal says is not
/// taken from the signal, which any program may send, but asked of logind.
struct LogindConversation: Sendable {
    /// What the driver does, in order.
    enum Action: Sendable, Hashable {
        /// Send these bytes.
        case send([UInt8])
        /// Tell this.
        case tell(LifecycleEvent)
        /// Close the connection: nothing more can be learned.
        case end
    }

    /// What was asked and is not answered yet.
    private enum Question: Sendable {
        case name
        case session
        case rule
        case lock
    }

    private static let bus = "org.freedesktop.DBus"
    private static let logind = "org.freedesktop.login1"
    private static let lineLimit = 512

    private var received: [UInt8] = []
    private var isGreeted = false
    private var serial: UInt32 = 0
    private var open: [UInt32: Question] = [:]
    /// The object of the person's session.
    private var session: String?
    private var isAsking = false
    private var mustAskAgain = false
    /// Nil until logind has said it once.
    private var isLocked: Bool?
    private var isOver = false

    /// The first bytes of a connection: a user, by the number that the socket proves.
    static func greeting(of user: UInt32) -> [UInt8] {
        let digits = Array("0123456789abcdef".utf8)
        let name = String(user).utf8.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return [0] + Array("AUTH EXTERNAL ".utf8) + name + Array("\r\n".utf8)
    }

    /// Takes in what came.
    mutating func take(_ bytes: some Sequence<UInt8>) -> [Action] {
        guard !isOver else { return [] }
        received += bytes
        var actions: [Action] = []
        if !isGreeted {
            guard let line = takeLine() else { return received.count > Self.lineLimit ? end() : [] }
            guard line.starts(with: Array("OK ".utf8)) else { return end() }
            isGreeted = true
            let hello = ask(.name, Self.bus, "/org/freedesktop/DBus", Self.bus, "Hello")
            actions = [.send(Array("BEGIN\r\n".utf8)), hello]
        }
        do throws(DBusMessage.Malformed) {
            while !isOver, let message = try DBusMessage.take(from: &received) { actions += take(message) }
        } catch {
            actions += end()
        }
        return actions
    }

    /// The connection has ended. Who was away because of the lock is so no more, as far as is known.
    mutating func closed() -> [Action] {
        isOver = true
        defer { isLocked = nil }
        return isLocked == true ? [.tell(.foreground)] : []
    }

    // MARK: Messages

    private mutating func take(_ message: DBusMessage) -> [Action] {
        switch message.kind {
        case .call: return []
        case .signal: return hear(message)
        case .answer, .error:
            guard let question = message.answered.flatMap({ open.removeValue(forKey: $0) }) else { return [] }
            guard message.kind == .answer else { return end() }
            return answered(question, message)
        }
    }

    private mutating func answered(_ question: Question, _ message: DBusMessage) -> [Action] {
        var body = message.body.reader
        switch question {
        case .name:
            let manager = "\(Self.logind).Manager"
            return [
                // The own session, or else the one at the screen.
                ask(.session, Self.logind, "/org/freedesktop/login1", manager, "GetSession", ["auto"]),
                rule("path='/org/freedesktop/login1',interface='\(manager)',member='PrepareForSleep'"),
            ]
        case .session:
            guard message.signature == "o", let path = body.text() else { return end() }
            session = path
            // Asked behind the rule, so that nothing is missed in between.
            let about = "interface='\(Self.bus).Properties',member='PropertiesChanged',arg0='\(Self.logind).Session'"
            return [rule("path='\(path)',\(about)")] + askLock()
        case .rule: return []
        case .lock:
            isAsking = false
            guard message.signature == "v", body.signature() == "b", let value = body.number() else { return end() }
            defer { isLocked = value != 0 }
            var actions: [Action] = []
            if let isLocked, isLocked != (value != 0) { actions = [.tell(value != 0 ? .background : .foreground)] }
            return mustAskAgain ? actions + askLock() : actions
        }
    }

    private mutating func hear(_ signal: DBusMessage) -> [Action] {
        switch signal.member {
        case "PropertiesChanged" where signal.path == session:
            // Others change more often; a name that is mentioned by chance costs one question.
            return signal.body.bytes.contains(Array("LockedHint".utf8)) ? askLock() : []
        case "PrepareForSleep":
            // True comes before the sleep, false behind it.
            var body = signal.body.reader
            return signal.signature == "b" && body.number() == 0 ? [.tell(.probe)] : []
        default: return []
        }
    }

    // MARK: Questions

    private mutating func askLock() -> [Action] {
        guard let session else { return [] }
        mustAskAgain = isAsking
        guard !isAsking else { return [] }
        isAsking = true
        let arguments = ["\(Self.logind).Session", "LockedHint"]
        return [ask(.lock, Self.logind, session, "\(Self.bus).Properties", "Get", arguments)]
    }

    private mutating func rule(_ words: String) -> Action {
        let rule = "type='signal',sender='\(Self.logind)',\(words)"
        return ask(.rule, Self.bus, "/org/freedesktop/DBus", Self.bus, "AddMatch", [rule])
    }

    private mutating func ask(
        _ question: Question, _ destination: String, _ path: String, _ interface: String, _ member: String,
        _ arguments: [String] = []
    ) -> Action {
        serial += 1
        open[serial] = question
        var call = DBusMessage(kind: .call, flags: DBusMessage.startsNobody, serial: serial)
        call.path = path
        call.interface = interface
        call.member = member
        call.destination = destination
        call.signature = String(repeating: "s", count: arguments.count)
        for argument in arguments { call.body.add(argument) }
        return .send(call.bytes)
    }

    private mutating func takeLine() -> [UInt8]? {
        guard let end = received.firstRange(of: Array("\r\n".utf8)) else { return nil }
        defer { received.removeFirst(end.upperBound) }
        return Array(received[..<end.lowerBound])
    }

    private mutating func end() -> [Action] { closed() + [.end] }
}
