import JSON5
import Relay
import RelayFaults

/// An act of a run: on the link, on the server, as the administrator, on the application, or with the client.
public struct LabAct: Hashable, Sendable {
    /// The parameters of an act.
    enum Field: String, CodingKey, CaseIterable {
        case how, afterBytes, direction, by, jitter, rate, bytes, count, every, reason, device
    }

    /// Its name.
    public var name: Name
    /// How a connection is cut.
    public var how = FaultProxy.Ending.reset
    /// After how many more bytes of the direction it is cut.
    public var afterBytes = 0
    /// The direction.
    public var direction = FaultProxy.Direction.both
    /// How long bytes are delayed.
    public var by = Duration.milliseconds(200)
    /// The maximum random addition to the delay.
    public var jitter = Duration.zero
    /// The rate in bytes per second.
    public var rate = 1_024
    /// The size of a piece in bytes.
    public var bytes = 1
    /// The number of messages to send.
    public var count = 1
    /// The interval between messages.
    public var every = Duration.zero
    /// The administrator's reason.
    public var reason: String?
    /// The name of the other device.
    public var device = "another device"

    /// The maximum number of messages of an act.
    public static let maximumCount = 10_000

    /// Makes an act with default parameters.
    public init(_ name: Name) {
        self.name = name
        // Message faults affect incoming messages by default.
        if name.isOfMessage { direction = .fromServer }
    }

    /// The parameters in words, such as `by 200ms from-server`; empty if all are default.
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

    /// The act's name and its parameters that differ from the defaults, in order, as written to a file.
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

    /// Decodes an act from the object of its step.
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
