import NATS
import NIOCore
import Relay

extension JetStream {
    /// Makes a stream. One that exists gets the bounds and the subjects given here and keeps all else, also what this
    /// program does not know.
    /// - Parameter keepsStored: whether a stream that holds more than the bound already stays without it.
    func provide(_ configuration: StreamConfiguration, keepsStored: Bool = false) async throws(NATSError) {
        do throws(NATSError) {
            try await createStream(configuration)
        } catch {
            // That a server stores nothing more, it says before it looks whether the stream is there.
            guard case .jetStream = error, let description = try await description(of: configuration.name) else {
                throw error
            }
            guard let settings = description["config"]?.mapValue else {
                throw .protocolViolation("the answer to STREAM.INFO has no config")
            }
            var configuration = configuration
            let stored = description["state"]?["bytes"]?.intValue ?? 0
            if keepsStored, let bound = configuration.maximumBytes, stored > bound { configuration.maximumBytes = nil }
            let renewed = configuration.changes(to: settings)
            guard renewed != settings else { return }
            _ = try await ask("UPDATE", configuration.name, .map(renewed))
        }
    }

    /// A stream as the server describes it; nil for one that is not there.
    private func description(of stream: String) async throws(NATSError) -> MessageValue? {
        do throws(NATSError) {
            return try await ask("INFO", stream, nil)
        } catch .jetStream(let failure) where failure.errorCode == JetStreamFailure.streamNotFound {
            return nil
        }
    }

    private func ask(_ verb: String, _ stream: String, _ body: MessageValue?) async throws(NATSError) -> MessageValue {
        let reply = try await connection.request(
            body.map { ByteBuffer(string: JSONText.text($0)) } ?? ByteBuffer(),
            to: "\(Self.standardPrefix).STREAM.\(verb).\(stream)", timeout: timeout)
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

extension StreamConfiguration {
    /// A stream's settings, as the server gave them, with what the network decides about them. A stream's most consumers
    /// cannot be changed.
    func changes(to settings: MessageMap) -> MessageMap {
        var settings = settings
        if let subjects { settings["subjects"] = .array(subjects.map(MessageValue.string)) }
        if let allowsRollup { settings["allow_rollup_hdrs"] = .bool(allowsRollup) }
        if let maximumMessages { settings["max_msgs"] = .int(maximumMessages) }
        if let maximumBytes { settings["max_bytes"] = .int(maximumBytes) }
        if let maximumMessageSize { settings["max_msg_size"] = .int(Int64(maximumMessageSize)) }
        if let maximumAge { settings["max_age"] = .int(maximumAge) }
        // The window for repetitions cannot be longer than a message lives (ADR-8).
        let window = settings["duplicate_window"]?.intValue ?? 0
        if let age = maximumAge, age > 0, window == 0 || window > age { settings["duplicate_window"] = .int(age) }
        return settings
    }
}
