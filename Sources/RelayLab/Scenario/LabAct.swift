import JSON5
import Relay
import RelayFaults

/// One thing that a run does: to the link, to the server, as the administrator, to the application, or with the client.
public struct LabAct: Hashable, Sendable {
    /// What there is to say of an act beside its name.
    enum Field: String, CodingKey, CaseIterable {
        case how, afterBytes, direction, by, jitter, rate, bytes, count, every, reason, device
    }

    /// What it is.
    public var name: Name
    /// How a connection is cut.
    public var how = FaultProxy.Ending.reset
    /// After how many more bytes of the direction it is cut.
    public var afterBytes = 0
    /// Which way.
    public var direction = FaultProxy.Direction.both
    /// How late bytes come.
    public var by = Duration.milliseconds(200)
    /// By how much more at most, drawn by chance.
    public var jitter = Duration.zero
    /// How many bytes a second come through.
    public var rate = 1_024
    /// How many bytes a piece has.
    public var bytes = 1
    /// How many messages are sent.
    public var count = 1
    /// How much time is between two of them.
    public var every = Duration.zero
    /// What the administrator says.
    public var reason: String?
    /// What the other device is called.
    public var device = "another device"

    /// Most messages that one act sends.
    public static let maximumCount = 10_000

    /// An act with what counts where nothing else is said.
    public init(_ name: Name) {
        self.name = name
        // What is done to a message is done to one that comes.
        if name.isOfMessage { direction = .fromServer }
    }

    /// What stands beside the name, such as `by 200ms, from-server`; empty where nothing is said.
    public var detail: String {
        let plain = LabAct(name)
        return name.row.fields.compactMap { field -> String? in
            let isSaid = value(of: field) != plain.value(of: field)
            switch field {
            case .how: return isSaid ? "by \(how == .finish ? "an orderly end" : "a reset")" : nil
            case .afterBytes: return isSaid ? "after \(afterBytes) bytes" : nil
            case .direction: return isSaid ? direction.rawValue : nil
            case .by: return "by \(LabDuration.text(by))"
            case .jitter: return isSaid ? "and up to \(LabDuration.text(jitter)) more" : nil
            case .rate: return "to \(rate) bytes a second"
            case .bytes: return "into pieces of \(bytes)"
            case .count: return "\(count)"
            case .every: return isSaid ? "every \(LabDuration.text(every))" : nil
            case .reason: return reason.map { "“\($0)”" }
            case .device: return "on \(device)"
            }
        }.joined(separator: " ")
    }

    /// The fields with which the act is written, in their order; those that are as they would be anyway are left out.
    var entries: [(key: String, value: MessageValue)] {
        let plain = LabAct(name)
        return [("do", .string(name.rawValue))]
            + name.row.fields.compactMap { field in
                let value = value(of: field)
                return value == plain.value(of: field) ? nil : value.map { (field.rawValue, $0) }
            }
    }

    private func value(of field: Field) -> MessageValue? {
        switch field {
        case .how: .string(how.rawValue)
        case .afterBytes: .int(Int64(afterBytes))
        case .direction: .string(direction.rawValue)
        case .by: .string(LabDuration.text(by))
        case .jitter: .string(LabDuration.text(jitter))
        case .rate: .int(Int64(rate))
        case .bytes: .int(Int64(bytes))
        case .count: .int(Int64(count))
        case .every: .string(LabDuration.text(every))
        case .reason: reason.map { .string($0) }
        case .device: .string(device)
        }
    }
}

extension LabAct: Decodable {
    private enum NameKey: String, CodingKey { case act = "do" }

    /// Reads an act from the object of its step.
    public init(from decoder: any Decoder) throws {
        let names = try decoder.container(keyedBy: NameKey.self)
        guard let name: Name = try names.choice(.act, kind: "act") else {
            throw SettingMistake(decoder.codingPath, "it does nothing (do)")
        }
        self.init(name)
        let values = try decoder.container(keyedBy: Field.self)
        for field in Field.allCases where values.contains(field) {
            guard name.row.fields.contains(field) else {
                let known = name.row.fields.map(\.rawValue).joined(separator: ", ")
                throw SettingMistake(
                    decoder.codingPath + [field], isKey: true,
                    "“\(name.rawValue)” takes no “\(field.rawValue)”" + (known.isEmpty ? "" : "; it takes: \(known)"))
            }
            switch field {
            case .how: how = try values.choice(field, kind: "ending") ?? how
            case .direction: direction = try values.choice(field, kind: "direction") ?? direction
            case .afterBytes: afterBytes = try values.number(field, 0...1_000_000_000) ?? afterBytes
            case .rate: rate = try values.number(field, 0...1_000_000_000) ?? rate
            case .bytes: bytes = try values.number(field, 1...1_000_000) ?? bytes
            case .count: count = try values.number(field, 1...Self.maximumCount) ?? count
            case .by: by = try values.length(field) ?? by
            case .jitter: jitter = try values.length(field) ?? jitter
            case .every: every = try values.length(field) ?? every
            case .reason: reason = try values.decode(String.self, forKey: field)
            case .device: device = try values.decode(String.self, forKey: field)
            }
        }
    }
}
