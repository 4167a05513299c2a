import NATS
import Relay

/// What a stream on a server lacks of what the network planned for it: a pure value.
///
/// The network decides about a stream's subjects, bounds, rollups, copies and their place. All else stays as it is,
/// also what this program does not know.
struct StreamDifference: Hashable, Sendable {
    /// What is lost with a change.
    enum Loss: Hashable, Sendable {
        /// A copy of the stream on another server.
        case copies
        /// Messages that are stored now.
        case messages
    }

    /// One setting that is otherwise on the server.
    struct Change: Hashable, Sendable {
        /// Its name in JetStream's calls.
        var key: String
        /// What it is there; nil where the server does not say it.
        var present: MessageValue?
        /// What it is to be.
        var planned: MessageValue
        /// What is lost with it; nil for nothing.
        var loss: Loss?
    }

    /// The plan.
    let plan: StreamConfiguration
    /// Whether there is no such stream.
    let isMissing: Bool
    /// What is otherwise, in the order in which it is written; nothing for a stream that is missing.
    let changes: [Change]
    private let present: MessageMap

    /// Compares.
    /// - Parameters:
    ///   - description: the server's answer to the question about the stream; nil where there is none.
    ///   - keys: the settings to compare; nil for all that the network decides.
    init(_ plan: StreamConfiguration, from description: MessageValue?, of keys: Set<String>? = nil) {
        self.plan = plan
        isMissing = description == nil
        present = description?["config"]?.mapValue ?? [:]
        let all = description == nil ? [] : Self.changes(plan, present, description?["state"]?.mapValue ?? [:])
        changes = all.filter { keys?.contains($0.key) ?? true }
    }

    /// The stream's settings with those changes that cost nothing but what is named here; nil where none is to be made.
    /// - Parameter losses: what may be lost.
    func settings(losing losses: Set<Loss>) -> MessageMap? {
        let made = made(losing: losses)
        guard !made.isEmpty else { return nil }
        return made.reduce(into: present) { settings, change in settings[change.key] = change.planned }
    }

    /// The changes that cost nothing but what is named here.
    func made(losing losses: Set<Loss>) -> [Change] {
        changes.filter { change in change.loss.map(losses.contains) ?? true }
    }

    private static func changes(_ plan: StreamConfiguration, _ present: MessageMap, _ state: MessageMap) -> [Change] {
        var changes: [Change] = []
        /// - Parameter isLoss: whether it is one, for a setting that differs.
        func plans(_ key: String, _ planned: MessageValue?, _ loss: Loss = .messages, if isLoss: Bool = false) {
            guard let planned, present[key] != planned else { return }
            changes.append(Change(key: key, present: present[key], planned: planned, loss: isLoss ? loss : nil))
        }
        /// Whether more is stored than a bound allows.
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
        // Nothing says how old the oldest message is by the server's clock, so a shorter life counts wherever there is
        // one.
        let endsSome = isShorter && state["messages"]?.intValue ?? 0 > 0
        plans("max_age", plan.maximumAge.map(MessageValue.int), if: endsSome)
        // The window for repetitions cannot be longer than a message lives (ADR-8).
        let window = present["duplicate_window"]?.intValue ?? 0
        if age > 0, window == 0 || window > age { plans("duplicate_window", .int(age), if: endsSome) }
        if let replicas = plan.replicas {
            plans(
                "num_replicas", .int(Int64(replicas)), .copies,
                if: replicas < present["num_replicas"]?.intValue ?? 1)
        }
        // Where nothing is planned, an administrator's choice stays.
        if let placement = plan.placement {
            let present = present["placement"]?.mapValue
            var wanted: MessageMap = [:]
            // The server may name the cluster that it chose.
            wanted["cluster"] = placement.cluster.map(MessageValue.string) ?? present?["cluster"]
            if let tags = placement.tags { wanted["tags"] = .array(tags.map(MessageValue.string)) }
            if present?["cluster"] != wanted["cluster"] || present?["tags"] != wanted["tags"] {
                plans("placement", .map(wanted))
            }
        }
        return changes
    }
}

extension StreamDifference.Change: CustomStringConvertible {
    /// The setting, what it is and what it is to be.
    var description: String { "\(key) \(present?.description ?? "unknown") → \(planned)" }
}
