import JSON5
import NATS
import NIOCore
import Platform
import Relay
import RelayLab
import Terminal

/// A reader of bytes that a stranger may have written, to be fed with any. None may end the process, hang, or break
/// what it promises of every input.
package enum FuzzTarget: String, CaseIterable, Sendable {
    /// The server's half of the NATS protocol.
    case wire
    /// MessagePack and the envelopes in it.
    case messagepack
    /// Configuration files and scenarios as texts.
    case json5
    /// Credentials files, keys and tokens.
    case credentials
    /// What a terminal sends.
    case input
    /// Text on its way to the terminal.
    case text
    /// Scenarios of the lab.
    case scenario
    /// The local store's file.
    case store

    /// A promise that an input broke.
    package struct Finding: Error {
        /// The promise.
        package let words: String
    }

    /// Reads the bytes.
    /// - Throws: ``Finding``.
    package func read(_ bytes: [UInt8]) async throws(Finding) {
        switch reader {
        case .atOnce(let read): try read(bytes)
        case .waiting(let read): try await read(bytes)
        }
    }

    /// What reads, and whether it waits for anything.
    enum Reader {
        case atOnce((_ bytes: [UInt8]) throws(Finding) -> Void)
        case waiting(@Sendable (_ bytes: [UInt8]) async throws(Finding) -> Void)
    }

    var reader: Reader {
        switch self {
        case .wire: .atOnce(Self.readWire)
        case .messagepack: .atOnce(Self.readMessagePack)
        case .json5: .atOnce(Self.readJSON5)
        case .credentials: .atOnce { Self.readCredentials(String(decoding: $0, as: UTF8.self)) }
        case .input: .atOnce(Self.readInput)
        case .text: .atOnce { bytes throws(Finding) in try Self.readText(String(decoding: bytes, as: UTF8.self)) }
        case .scenario: .atOnce { _ = try? LabScenario(parsing: $0) }
        case .store: .waiting(DamagedStore.use)
        }
    }

    /// The inputs of a target that the project keeps: valid ones, and those that once failed.
    /// - Parameter package: the package's folder.
    package func inputs(in package: URL) throws -> [(name: String, bytes: [UInt8])] {
        try ["Corpus", "Kept"].flatMap { kind in
            let folder = package.appendingPathComponent("Fuzz/\(kind)/\(rawValue)")
            return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted().filter {
                !$0.hasPrefix(".")
            }
            .map { name in
                ("\(kind)/\(rawValue)/\(name)", Array(try Data(contentsOf: folder.appendingPathComponent(name))))
            }
        }
    }

    // MARK: Readers

    /// The first byte says where the rest is cut in two.
    private static func readWire(_ bytes: [UInt8]) throws(Finding) {
        let rest = Array(bytes.dropFirst())
        let place = rest.isEmpty ? 0 : Int(bytes[0]) % rest.count
        let whole = Counter()
        let parts = Counter()
        whole.read([rest])
        parts.read([Array(rest[..<place]), Array(rest[place...])])
        guard whole.sums == parts.sums, whole.hasFailed == parts.hasFailed else {
            throw Finding(words: "what is read depends on where it was cut")
        }
    }

    private final class Counter: ProtocolSink {
        var sums: [Int] = [0, 0, 0, 0, 0, 0]
        var hasFailed = false

        func read(_ chunks: [[UInt8]]) {
            var decoder = ProtocolDecoder()
            do throws(NATSError) {
                for chunk in chunks { try decoder.decode(ByteBuffer(bytes: chunk), into: self) }
            } catch {
                hasFailed = true
            }
        }

        func received(
            sid: UInt64, subject: UnsafeRawBufferPointer, reply: UnsafeRawBufferPointer?, headerLength: Int,
            content: ByteBuffer
        ) {
            sums[0] += 1
            sums[1] &+= subject.count &+ (reply?.count ?? 0) &+ headerLength &+ content.readableBytes
        }

        func receivedInfo(_ json: [UInt8], hasTrailingBytes: Bool) { sums[2] += 1 }
        func receivedPing() { sums[3] += 1 }
        func receivedPong() { sums[4] += 1 }
        func receivedError(_ text: String) { sums[5] += 1 }
    }

    private static func readMessagePack(_ bytes: [UInt8]) throws(Finding) {
        let epoch = Timestamp(milliseconds: 0)
        _ = try? Envelope(decoding: bytes, fallbackID: "id", fallbackRoom: "room", fallbackStart: epoch)
        guard let value = try? MessagePack.decode(bytes) else { return }
        guard (try? MessagePack.decode(MessagePack.encode(value))) != nil else {
            throw Finding(words: "a value that was read cannot be read again")
        }
    }

    private static func readJSON5(_ bytes: [UInt8]) {
        _ = try? JSON5Document<[String: [String]]>(Data(bytes))
        guard let outline = try? JSON5Outline(bytes) else { return }
        _ = outline.holds(["profiles", "default"])
        _ = outline.place(of: [PathKey("a"), PathKey(0)])
        _ = outline.inserting("a: 1", into: ["profiles"])
        _ = outline.replacing(["a"], by: "1")
    }

    private static func readCredentials(_ text: String) {
        _ = try? Credentials(parsing: text)
        _ = try? JSONWebToken(parsing: text)
        _ = try? UserClaims.decode(text)
        _ = try? AccountClaims.decode(text)
        _ = try? NKey(text)
        _ = try? RelayCredentials.accessToken(text)
        _ = try? RelayCredentials.apiKey(text, secret: text)
        _ = try? ServerAddress(parsing: text)
    }

    /// What a key is may depend on how its bytes arrive, so that nothing is promised of that.
    private static func readInput(_ bytes: [UInt8]) {
        var whole = InputParser()
        _ = whole.feed(bytes) + whole.flush()
        var parts = InputParser()
        for byte in bytes { _ = parts.feed([byte]) }
        _ = parts.flush()
    }

    private static func readText(_ text: String) throws(Finding) {
        for line in [SafeText(text)] + SafeText.lines(text) {
            let isSafe = "\(line)".unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
            guard isSafe else { throw Finding(words: "a control character reaches the terminal") }
        }
    }
}
