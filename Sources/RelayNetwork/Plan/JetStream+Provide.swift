import NATS
import NIOCore
import Relay

extension JetStream {
    /// Looks at a stream, and makes it or gives it what the network decides about it; all else stays.
    /// - Parameters:
    ///   - keys: the settings that may be changed of one that exists; nil for all that the network decides.
    ///   - losses: what may be lost of one that exists.
    ///   - makes: whether one that is missing is made.
    ///   - mends: whether one that exists is changed.
    /// - Returns: what was found, and what was done.
    @discardableResult
    func provide(
        _ plan: StreamConfiguration, changing keys: Set<String>? = nil,
        losing losses: Set<StreamDifference.Loss> = [.messages], makes: Bool = true, mends: Bool = true
    ) async throws(NATSError) -> ProvisionReport.Part {
        let difference = StreamDifference(plan, from: try await description(of: plan.name), of: keys)
        var part = ProvisionReport.Part(name: "stream \(plan.name)", state: .same)
        if difference.isMissing {
            part.state = .missing
            guard makes else { return part }
            do throws(NATSError) { try await createStream(plan) } catch {
                // Somebody else may have been quicker.
                guard case .jetStream = error, try await description(of: plan.name) != nil else { throw error }
                return try await provide(plan, changing: keys, losing: losses, makes: false, mends: mends)
            }
            part.state = .made
        } else if !difference.changes.isEmpty {
            let made = difference.made(losing: losses)
            part.state = .different
            part.changes = difference.changes.map { "\($0)" }
            part.withheld = difference.changes.filter { !made.contains($0) }.map { "\($0)" }
            guard mends, let settings = difference.settings(losing: losses) else { return part }
            _ = try await ask("UPDATE", plan.name, .map(settings))
            part.state = .changed
        }
        return part
    }

    /// A stream as the server describes it; nil for one that is not there.
    func description(of stream: String) async throws(NATSError) -> MessageValue? {
        do throws(NATSError) {
            let description = try await ask("INFO", stream, nil)
            guard description["config"]?.mapValue != nil else {
                throw NATSError.protocolViolation("the answer to STREAM.INFO has no config")
            }
            return description
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
