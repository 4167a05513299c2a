import NATS
import NIOCore
import Relay

/// The differences between a stream on a server and the network's plan for it.
///
/// The network decides a stream's subjects, limits, rollups, copies and placement. Everything else stays as it is,
/// including settings unknown to this program.
struct StreamDifference: Hashable, Sendable {
    enum Loss: Hashable, Sendable { case copies, messages }

    struct Change: Hashable, Sendable, CustomStringConvertible {
        var key: String
        var present: MessageValue?
        var planned: MessageValue
        var loss: Loss?

        var description: String { "\(key) \(present?.description ?? "unknown") → \(planned)" }
    }

    let isMissing: Bool
    /// The differing settings, in the order in which they are written; empty for a missing stream.
    let changes: [Change]
    private let present: MessageMap

    init(_ plan: StreamConfiguration, from description: MessageValue?, of keys: Set<String>? = nil) {
        isMissing = description == nil
        present = description?["config"]?.mapValue ?? [:]
        let all = description == nil ? [] : Self.changes(plan, present, description?["state"]?.mapValue ?? [:])
        changes = all.filter { keys?.contains($0.key) ?? true }
    }

    /// The stream's settings with those changes that cause no other losses than these; nil if there are none.
    func settings(losing losses: Set<Loss>) -> MessageMap? {
        let made = made(losing: losses)
        guard !made.isEmpty else { return nil }
        return made.reduce(into: present) { settings, change in settings[change.key] = change.planned }
    }

    func made(losing losses: Set<Loss>) -> [Change] {
        changes.filter { change in change.loss.map(losses.contains) ?? true }
    }

    private static func changes(_ plan: StreamConfiguration, _ present: MessageMap, _ state: MessageMap) -> [Change] {
        var changes: [Change] = []
        func plans(_ key: String, _ planned: MessageValue?, _ loss: Loss = .messages, if isLoss: Bool = false) {
            guard let planned, present[key] != planned else { return }
            changes.append(Change(key: key, present: present[key], planned: planned, loss: isLoss ? loss : nil))
        }
        func exceeds(_ bound: Int64?, _ stored: String) -> Bool {
            bound.map { $0 >= 0 && state[stored]?.intValue ?? 0 > $0 } ?? false
        }
        plans("subjects", plan.subjects.map { .array($0.map(MessageValue.string)) })
        plans("allow_rollup_hdrs", plan.allowsRollup.map(MessageValue.bool))
        plans("max_msgs", plan.maximumMessages.map(MessageValue.int), if: exceeds(plan.maximumMessages, "messages"))
        plans("max_bytes", plan.maximumBytes.map(MessageValue.int), if: exceeds(plan.maximumBytes, "bytes"))
        plans("max_msg_size", plan.maximumMessageSize.map { .int(Int64($0)) })
        let (age, presentAge) = (plan.maximumAge ?? 0, present["max_age"]?.intValue ?? 0)
        let isShorter = age > 0 && (presentAge == 0 || age < presentAge)
        // The age of the oldest message by the server's clock is unknown: a shorter life may cost any message.
        let endsSome = isShorter && state["messages"]?.intValue ?? 0 > 0
        plans("max_age", plan.maximumAge.map(MessageValue.int), if: endsSome)
        // The duplicate window cannot be longer than a message lives (ADR-8).
        let window = present["duplicate_window"]?.intValue ?? 0
        if age > 0, window == 0 || window > age { plans("duplicate_window", .int(age), if: endsSome) }
        if let replicas = plan.replicas {
            plans("num_replicas", .int(Int64(replicas)), .copies, if: replicas < present["num_replicas"]?.intValue ?? 1)
        }
        // Without a plan, an administrator's choice stays.
        if let placement = plan.placement {
            let present = present["placement"]?.mapValue
            var wanted: MessageMap = [:]
            // The server may report the cluster that it chose.
            wanted["cluster"] = placement.cluster.map(MessageValue.string) ?? present?["cluster"]
            if let tags = placement.tags { wanted["tags"] = .array(tags.map(MessageValue.string)) }
            if present?["cluster"] != wanted["cluster"] || present?["tags"] != wanted["tags"] {
                plans("placement", .map(wanted))
            }
        }
        return changes
    }
}

extension JetStream {
    /// Makes a stream, or changes its settings to the planned ones; all others stay.
    /// - Parameters:
    ///   - keys: the settings that may be changed in an existing stream; nil for all that the network decides.
    ///   - losses: what an existing stream may lose.
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
                // Another process may have been quicker. A stream that could not be made may also be listed briefly.
                guard case .jetStream(let failure) = error, failure.errorCode == JetStreamFailure.streamNameInUse else {
                    throw error
                }
                let other = try await provide(plan, changing: keys, losing: losses, makes: false, mends: mends)
                guard other.state != .missing else { throw error }
                return other
            }
            part.state = .made
        } else if !difference.changes.isEmpty {
            let made = difference.made(losing: losses)
            part.state = .different
            part.changes = difference.changes.map { "\($0)" }
            part.withheld = difference.changes.filter { !made.contains($0) }.map { "\($0)" }
            guard mends, let settings = difference.settings(losing: losses) else { return part }
            _ = try await ask("STREAM.UPDATE.\(plan.name)", .map(settings))
            part.state = .changed
        }
        return part
    }

    func description(of stream: String) async throws(NATSError) -> MessageValue? {
        do throws(NATSError) {
            let description = try await ask("STREAM.INFO.\(stream)")
            guard description["config"]?.mapValue != nil else {
                throw NATSError.protocolViolation("the answer to STREAM.INFO has no config")
            }
            return description
        } catch .jetStream(let failure) where failure.errorCode == JetStreamFailure.streamNotFound {
            return nil
        }
    }

    /// Calls the API with raw JSON, for callers that must send back all of it.
    func ask(_ call: String, _ body: MessageValue? = nil) async throws(NATSError) -> MessageValue {
        let reply = try await connection.request(
            body.map { ByteBuffer(string: JSONText.text($0)) } ?? ByteBuffer(),
            to: "\(Self.standardPrefix).\(call)", timeout: timeout)
        guard let answer = try? JSONText.parse(bytes: reply.bytes) else {
            throw .protocolViolation("the answer to \(call) is not JSON")
        }
        guard let failure = answer["error"] else { return answer }
        throw .jetStream(
            JetStreamFailure(
                code: Int(failure["code"]?.intValue ?? 0), errorCode: Int(failure["err_code"]?.intValue ?? 0),
                text: failure["description"]?.stringValue ?? ""))
    }
}
