import NATS
import NIOCore
import Relay

extension JetStream {
    /// Makes a network's streams and buckets, and gives those that exist what the plan has for them.
    /// - Parameter areBoundsSet: whether the plan's bounds are the administrator's own. Messages that were stored
    ///   before there were bounds are removed only then.
    /// - Returns: what was done, in words.
    func provide(_ plan: NetworkPlan, areBoundsSet: Bool) async throws(NATSError) -> [String] {
        var done = try await provide(plan.topics, losing: areBoundsSet ? [.messages] : [])
        for bucket in plan.buckets { done += try await provide(bucket) }
        return done
    }

    /// Makes a stream. One that exists gets what the network decides about it and keeps all else.
    /// - Parameters:
    ///   - keys: the settings that may be changed of one that exists; nil for all that the network decides.
    ///   - losses: what may be lost of one that exists.
    /// - Returns: what was done, in words.
    @discardableResult
    func provide(
        _ plan: StreamConfiguration, changing keys: Set<String>? = nil,
        losing losses: Set<StreamDifference.Loss> = [.messages]
    ) async throws(NATSError) -> [String] {
        let failure: NATSError
        do throws(NATSError) {
            // A stream that is there as planned is found by the server itself, in one call.
            try await createStream(plan)
            return []
        } catch {
            failure = error
        }
        // That a server stores nothing more, it says before it looks whether the stream is there.
        guard case .jetStream = failure else { throw failure }
        let description = try await description(of: plan.name)
        guard description != nil else { throw failure }
        guard description?["config"]?.mapValue != nil else {
            throw .protocolViolation("the answer to STREAM.INFO has no config")
        }
        return try await mend(StreamDifference(plan, from: description, of: keys), losing: losses)
    }

    /// Changes a stream that is there.
    /// - Parameter losses: what may be lost.
    /// - Returns: what was done, in words.
    @discardableResult
    func mend(
        _ difference: StreamDifference, losing losses: Set<StreamDifference.Loss>
    ) async throws(NATSError) -> [String] {
        guard let settings = difference.settings(losing: losses) else { return [] }
        _ = try await ask("UPDATE", difference.plan.name, .map(settings))
        return difference.made(losing: losses).map { "\(difference.plan.name): \($0)" }
    }

    /// A stream as the server describes it; nil for one that is not there.
    func description(of stream: String) async throws(NATSError) -> MessageValue? {
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
