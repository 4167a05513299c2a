import NATS
import NIOCore
import Testing

// Connections, subscriptions and requests.
extension PromiseScene {
    func login() async throws {
        let info = connection.info
        #expect(info.supportsHeaders == true && info.hasJetStream == true)
        #expect(info.maximumPayload == 1 << 20 && !info.version.isEmpty)
        #expect(try await connection.ping(timeout: Self.patience) > .zero)
        #expect(connection.isOpen)
    }

    func subjects() async throws {
        let exact = try connection.subscribe(to: "\(name).a.b")
        let one = try connection.subscribe(to: "\(name).*.b")
        let rest = try connection.subscribe(to: "\(name).>")
        try await connection.flush(timeout: Self.patience)
        var headers: NATSHeaders = ["Name": "value: with colon, ü", "name": "", "B": "2"]
        headers.append("second", for: "Name")
        for (index, subject) in ["a.b", "x.b", "a.b.c", "a", "a.b"].enumerated() {
            try other.publish(Array("\(index)".utf8), to: "\(name).\(subject)", reply: "r.\(index)")
        }
        try other.publish(ByteBuffer(repeating: 7, count: 300_000), to: "\(name).large", headers: headers)
        try other.publish([], to: "\(name).empty")
        #expect(try await first(2, of: exact).map(\.text) == ["0", "4"])
        #expect(try await first(3, of: one).map(\.text) == ["0", "1", "4"])
        let all = try await first(7, of: rest)
        #expect(all.prefix(5).map(\.text) == ["0", "1", "2", "3", "4"])
        #expect(all.prefix(5).map(\.reply) == (0..<5).map { "r.\($0)" })
        #expect(all.map(\.subject) == ["a.b", "x.b", "a.b.c", "a", "a.b", "large", "empty"].map { "\(name).\($0)" })
        #expect(all[5].headers == headers && all[5].bytes == [UInt8](repeating: 7, count: 300_000))
        #expect(all[6].bytes.isEmpty && !all[6].hasHeaders && all[6].reply == nil)
    }

    func queueGroups() async throws {
        let members = [
            try connection.subscribe(to: name, queue: "q"), try connection.subscribe(to: name, queue: "q"),
            try other.subscribe(to: name, queue: "q"),
        ]
        let plain = try connection.subscribe(to: name)
        try await connection.flush(timeout: Self.patience)
        try await other.flush(timeout: Self.patience)
        for index in 0..<100 { try other.publish(Array("\(index)".utf8), to: name) }
        #expect(try await first(100, of: plain).map(\.text) == (0..<100).map(String.init))
        try await other.flush(timeout: Self.patience)
        try await connection.flush(timeout: Self.patience)
        var shared: [Int] = []
        for member in members {
            member.unsubscribe()
            for try await message in member { shared.append(Int(message.text) ?? -1) }
        }
        #expect(shared.sorted() == Array(0..<100))
    }

    func endings() async throws {
        let subscription = try connection.subscribe(to: name)
        subscription.unsubscribe(after: 2)
        let gone = try connection.subscribe(to: name)
        gone.unsubscribe()
        try await connection.flush(timeout: Self.patience)
        for index in 0..<4 { try other.publish(Array("\(index)".utf8), to: name) }
        var texts: [String] = []
        for try await message in subscription { texts.append(message.text) }
        #expect(texts == ["0", "1"])
        // The subject has no subscriber any more.
        await #expect(throws: NATSError.noResponders(subject: name)) {
            try await other.request(ByteBuffer(), to: name, timeout: Self.patience)
        }
    }

    func echo() async throws {
        let mute = try await connect(ConnectOptions(echo: false))
        let own = try mute.subscribe(to: name)
        let others = try other.subscribe(to: name)
        try await mute.flush(timeout: Self.patience)
        try await other.flush(timeout: Self.patience)
        try mute.publish(Array("mine".utf8), to: name)
        try await mute.flush(timeout: Self.patience)
        try other.publish(Array("theirs".utf8), to: name)
        #expect(try await first(2, of: others).map(\.text) == ["mine", "theirs"])
        #expect(try await first(1, of: own).map(\.text) == ["theirs"])
        await mute.close()
    }

    func requests() async throws {
        let questions = try other.subscribe(to: name)
        try await other.flush(timeout: Self.patience)
        let answering = Task { [other] in
            for try await message in questions {
                guard let reply = message.reply else { continue }
                try other.publish(message.payload, to: reply, headers: ["A": "1"])
            }
        }
        let answer = try await connection.request(ByteBuffer(string: "?"), to: name, timeout: Self.patience)
        #expect(answer.text == "?" && answer.headers["A"] == "1")
        let nobody = name + ".nobody"
        await #expect(throws: NATSError.noResponders(subject: nobody)) {
            try await connection.request(ByteBuffer(), to: nobody, timeout: Self.patience)
        }
        questions.unsubscribe()
        try await answering.value
    }
}
