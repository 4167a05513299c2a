import NATS
import NIOCore
import Relay

/// The bucket of exclusive sessions: a key for each user, gone 90 s after its owner last wrote it, so that a session
/// whose owner died without a word keeps nobody out for long. Owners write theirs every 30 s.
struct SessionBucket: Sendable {
    /// The bucket's name.
    static let name = "relay_sessions"
    /// How long a key lives, in nanoseconds.
    static let lifetime: Int64 = 90 * 1_000_000_000

    let jetStream: JetStream
    private var stream: String { "KV_" + Self.name }

    /// Makes the bucket, or gives one that exists its lifetime and leaves all else as its administrator set it.
    func provide() async throws(NATSError) {
        do throws(NATSError) {
            try await jetStream.createStream(configuration)
        } catch {
            guard case .jetStream(let failure) = error, failure.errorCode == JetStreamFailure.streamNameInUse else {
                throw error
            }
            try await renew()
        }
    }

    /// A bucket as ADR-8 has it, with a lifetime and without history.
    private var configuration: StreamConfiguration {
        var stream = StreamConfiguration(name: stream, subjects: ["$KV.\(Self.name).>"])
        stream.maximumMessagesPerSubject = 1
        stream.maximumAge = Self.lifetime
        stream.duplicateWindow = Self.lifetime
        stream.discard = .new
        stream.allowsRollup = true
        stream.deniesDelete = true
        stream.allowsDirectAccess = true
        return stream
    }

    /// Changes the lifetime of the bucket that exists. Its configuration goes back as the server gave it, so that
    /// settings which this program does not know stay too.
    private func renew() async throws(NATSError) {
        let description = try await ask("INFO", nil)
        guard var settings = description["config"]?.mapValue else {
            throw .protocolViolation("the answer to STREAM.INFO has no config")
        }
        let renewed = Self.renewed(settings)
        guard renewed != settings else { return }
        settings = renewed
        _ = try await ask("UPDATE", .map(settings))
    }

    /// A bucket's settings with the lifetime; the window for repetitions cannot be longer (ADR-8).
    static func renewed(_ settings: MessageMap) -> MessageMap {
        var settings = settings
        settings["max_age"] = .int(lifetime)
        let window = settings["duplicate_window"]?.intValue ?? 0
        if window == 0 || window > lifetime { settings["duplicate_window"] = .int(lifetime) }
        return settings
    }

    private func ask(_ verb: String, _ body: MessageValue?) async throws(NATSError) -> MessageValue {
        let reply = try await jetStream.connection.request(
            body.map { ByteBuffer(string: JSONText.text($0)) } ?? ByteBuffer(),
            to: "$JS.API.STREAM.\(verb).\(stream)", timeout: jetStream.timeout)
        guard let answer = try? JSONText.parse(bytes: reply.bytes) else {
            throw .protocolViolation("the answer to STREAM.\(verb) is no JSON")
        }
        if let failure = answer["error"] {
            throw .jetStream(
                JetStreamFailure(
                    code: Int(failure["code"]?.intValue ?? 0), errorCode: Int(failure["err_code"]?.intValue ?? 0),
                    text: failure["description"]?.stringValue ?? ""))
        }
        return answer
    }
}
