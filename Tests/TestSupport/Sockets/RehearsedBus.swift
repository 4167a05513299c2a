import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// A system bus of D-Bus with nobody on it but a logind that knows one session: for programs that ask whether the
/// screen is locked. It says what the specification has, and writes the other byte order than its clients.
///
/// It ends with `close()`, or with its last reference.
public final class RehearsedBus: Sendable {
    /// The object of the session.
    public static let session = "/org/freedesktop/login1/session/_32"

    fileprivate struct State {
        var isLocked = false
        var calls: [String] = []
        var channels: [ObjectIdentifier: any Channel] = [:]
        /// What each connection wants to hear of.
        var rules: [ObjectIdentifier: [String]] = [:]
    }

    private let folder: TemporaryDirectory
    private let socket: String
    private let listener: any Channel
    private let state: NIOLockedValueBox<State>

    /// Listens at a socket in a folder of its own.
    ///
    /// - Parameters:
    ///   - isLocked: whether the screen is locked at first.
    ///   - hasSession: whether logind knows a session of whoever asks.
    public init(isLocked: Bool = false, hasSession: Bool = true) async throws {
        let folder = try TemporaryDirectory("bus")
        let state = NIOLockedValueBox(State(isLocked: isLocked))
        self.folder = folder
        self.state = state
        socket = folder.path("system bus")
        listener = try await ServerBootstrap(group: NIOSingletons.posixEventLoopGroup)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(BusHandler(state, hasSession: hasSession))
                }
            }
            .bind(unixDomainSocketPath: socket).get()
    }

    deinit { close() }

    /// Where it is, as D-Bus writes it.
    public var address: String {
        "tcp:host=nowhere,port=1;unix:path=\(socket.split(separator: " ").joined(separator: "%20"))"
    }

    /// What was called, in order: `Hello`, `GetSession auto`, `Get org.freedesktop.login1.Session`.
    public var calls: [String] { state.withLockedValue(\.calls) }

    /// How many programs are connected.
    public var connections: Int { state.withLockedValue(\.channels.count) }

    /// Locks the screen or unlocks it, and tells whoever wants to hear of it.
    public func lock(_ isLocked: Bool) {
        state.withLockedValue { $0.isLocked = isLocked }
        changed("LockedHint", isLocked)
    }

    /// Tells of a change of the session that concerns no lock.
    public func changeSomethingElse() { changed("IdleHint", true) }

    /// Tells what is not so, as any program can that knows the name of another.
    public func lie(isLocked: Bool) { changed("LockedHint", isLocked) }

    /// Tells that the machine sleeps, or has woken up.
    public func sleep(_ sleeps: Bool) {
        var body = BusWriter()
        body.add(sleeps ? 1 : 0)
        tell("PrepareForSleep", of: "org.freedesktop.login1.Manager", at: "/org/freedesktop/login1", "b", body)
    }

    /// Ends every connection.
    public func disconnectAll() {
        for channel in state.withLockedValue({ Array($0.channels.values) }) { channel.close(promise: nil) }
    }

    /// Listens no more, and ends every connection.
    public func close() {
        listener.close(promise: nil)
        disconnectAll()
    }

    private func changed(_ property: String, _ value: Bool) {
        var body = BusWriter()
        body.add("org.freedesktop.login1.Session")
        var entry = BusWriter()
        entry.add(property)
        entry.add(signature: "b")
        entry.add(value ? 1 : 0)
        body.add(UInt32(entry.bytes.count))
        body.align(to: 8)
        body.bytes += entry.bytes
        body.add(0)
        tell("PropertiesChanged", of: "org.freedesktop.DBus.Properties", at: Self.session, "sa{sv}as", body)
    }

    private func tell(_ member: String, of interface: String, at path: String, _ signature: String, _ body: BusWriter) {
        let bytes = BusWriter.message(
            kind: 4, [(1, "o", path), (2, "s", interface), (3, "s", member), (7, "s", ":1.2"), (8, "g", signature)],
            answered: nil, body)
        let listening = state.withLockedValue { state in
            state.channels.filter { id, _ in
                state.rules[id, default: []].contains { $0.contains("member='\(member)'") && $0.contains(path) }
            }
        }
        for channel in listening.values { channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil) }
    }
}

/// One program's connection.
private final class BusHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let state: NIOLockedValueBox<RehearsedBus.State>
    private let hasSession: Bool
    private var received: [UInt8] = []
    private var isGreeted = false
    private var hasBegun = false

    init(_ state: NIOLockedValueBox<RehearsedBus.State>, hasSession: Bool) {
        self.state = state
        self.hasSession = hasSession
    }

    func channelActive(context: ChannelHandlerContext) {
        let channel = context.channel
        state.withLockedValue { $0.channels[ObjectIdentifier(channel)] = channel }
    }

    func channelInactive(context: ChannelHandlerContext) {
        let id = ObjectIdentifier(context.channel)
        state.withLockedValue { state in
            state.channels[id] = nil
            state.rules[id] = nil
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received += unwrapInboundIn(data).readableBytesView
        if !isGreeted {
            guard let line = takeLine() else { return }
            guard line.hasPrefix("\0AUTH EXTERNAL ") else { return context.close(promise: nil) }
            isGreeted = true
            send(Array("OK 0123456789abcdef0123456789abcdef\r\n".utf8), context)
        }
        if !hasBegun {
            guard let line = takeLine() else { return }
            guard line == "BEGIN" else { return context.close(promise: nil) }
            hasBegun = true
        }
        while let call = BusCall.take(from: &received) { answer(call, context) }
    }

    private func answer(_ call: BusCall, _ context: ChannelHandlerContext) {
        let id = ObjectIdentifier(context.channel)
        let isLocked = state.withLockedValue { state in
            state.calls.append([call.member, call.argument].compactMap(\.self).joined(separator: " "))
            if call.member == "AddMatch", let rule = call.argument { state.rules[id, default: []].append(rule) }
            return state.isLocked
        }
        var body = BusWriter()
        var signature = ""
        switch call.member {
        case "Hello":
            body.add(":1.7")
            signature = "s"
        case "GetSession" where hasSession:
            body.add(RehearsedBus.session)
            signature = "o"
        case "Get":
            body.add(signature: "b")
            body.add(isLocked ? 1 : 0)
            signature = "v"
        case "AddMatch": break
        default:
            let error = [(4, "s", "org.freedesktop.login1.NoSuchSession"), (7, "s", ":1.2")] as [BusWriter.Field]
            return send(BusWriter.message(kind: 3, error, answered: call.serial, body), context)
        }
        let about: [BusWriter.Field] = signature.isEmpty ? [] : [(8, "g", signature)]
        let fields: [BusWriter.Field] = [(6, "s", ":1.7"), (7, "s", ":1.2")] + about
        send(BusWriter.message(kind: 2, fields, answered: call.serial, body), context)
    }

    private func send(_ bytes: [UInt8], _ context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
    }

    private func takeLine() -> String? {
        guard let end = received.firstRange(of: Array("\r\n".utf8)) else { return nil }
        defer { received.removeFirst(end.upperBound) }
        return String(decoding: received[..<end.lowerBound], as: UTF8.self)
    }
}

/// A call that a client has made, little-endian.
private struct BusCall {
    var serial: UInt32
    var member = ""
    /// The first of its arguments, where that is a text.
    var argument: String?

    static func take(from received: inout [UInt8]) -> BusCall? {
        guard received.count >= 16 else { return nil }
        let bytes = received
        func number(_ place: Int) -> Int { (0..<4).reduce(0) { $0 | Int(bytes[place + $1]) << (8 * $1) } }
        func text(_ place: Int) -> String {
            String(decoding: bytes[(place + 4)..<(place + 4 + number(place))], as: UTF8.self)
        }
        let (bodyLength, fieldsEnd) = (number(4), 16 + number(12))
        let body = (fieldsEnd + 7) / 8 * 8
        guard bytes.count >= body + bodyLength else { return nil }
        received.removeFirst(body + bodyLength)
        var call = BusCall(serial: UInt32(number(8)))
        var place = 16
        while place < fieldsEnd {
            place = (place + 7) / 8 * 8
            let (code, type) = (bytes[place], bytes[place + 2])
            place += 4
            switch type {
            case UInt8(ascii: "g"): place += Int(bytes[place]) + 2
            case UInt8(ascii: "u"): place += 4
            default:
                if code == 3 { call.member = text(place) }
                place += number(place) + 5
            }
        }
        if bodyLength > 0 { call.argument = text(body) }
        return call
    }
}

/// Writes values of D-Bus, big-endian.
private struct BusWriter {
    /// A field of a message's head: its code, its type, and its text.
    typealias Field = (code: UInt8, type: String, text: String)

    var bytes: [UInt8] = []

    static func message(kind: UInt8, _ fields: [Field], answered: UInt32?, _ body: BusWriter) -> [UInt8] {
        var head = BusWriter()
        if let answered {
            head.bytes.append(5)
            head.add(signature: "u")
            head.add(answered)
        }
        for field in fields {
            head.align(to: 8)
            head.bytes.append(field.code)
            head.add(signature: field.type)
            if field.type == "g" { head.add(signature: field.text) } else { head.add(field.text) }
        }
        var message = BusWriter()
        message.bytes = [UInt8(ascii: "B"), kind, 1, 1]
        message.add(UInt32(body.bytes.count))
        message.add(1)
        message.add(UInt32(head.bytes.count))
        message.bytes += head.bytes
        message.align(to: 8)
        return message.bytes + body.bytes
    }

    mutating func align(to boundary: Int) {
        while !bytes.count.isMultiple(of: boundary) { bytes.append(0) }
    }

    mutating func add(_ number: UInt32) {
        align(to: 4)
        withUnsafeBytes(of: number.bigEndian) { bytes += $0 }
    }

    mutating func add(_ text: String) {
        add(UInt32(text.utf8.count))
        bytes += Array(text.utf8) + [0]
    }

    mutating func add(signature: String) { bytes += [UInt8(signature.utf8.count)] + Array(signature.utf8) + [0] }
}
