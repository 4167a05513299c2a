import JSON5
import Relay

/// What a scenario expects to come. All that is said has to hold at the same time, but for the status and its reason,
/// which have to have been there since the last act, or to be there now.
public struct LabExpectation: Hashable, Sendable {
    /// The state.
    public var status: ConnectionStatus.State?
    /// The reason, by the name that ``Relay/ConnectionReason/labName`` has for it.
    public var reason: String?
    /// At least so many attempts since the last act.
    public var attempts: Int?
    /// Figures that are exactly so, by their names in ``LabFigures/counts``.
    public var counts: [String: Int] = [:]
    /// Figures that are at least so, by the same names; written as a text such as `"1+"`.
    public var least: [String: Int] = [:]
    /// Times that are at most so, by their names in ``LabFigures/times``.
    public var times: [String: Duration] = [:]

    /// Expects nothing.
    public init() {}

    private static let own = ["status", "reason", "attempts"]

    /// All keys, in the order in which they are written.
    static var keys: [String] { own + LabFigures.counts.map(\.name) + LabFigures.times.map(\.name) }

    /// `status reconnecting, reason kicked, lost 0, recovery at most 5s`.
    public var words: String {
        var words: [String] = []
        if let status { words.append("status \(status.rawValue)") }
        if let reason { words.append("reason \(reason)") }
        if let attempts { words.append("attempts at least \(attempts)") }
        for (name, _, _) in LabFigures.counts {
            if let count = counts[name] { words.append("\(name) \(count)") }
            if let count = least[name] { words.append("\(name) at least \(count)") }
        }
        for (name, _, _) in LabFigures.times {
            if let time = times[name] { words.append("\(name) at most \(LabDuration.text(time))") }
        }
        return words.joined(separator: ", ")
    }

    /// The object with which it is written.
    var value: MessageValue {
        var map = MessageMap()
        if let status { map["status"] = .string(status.rawValue) }
        if let reason { map["reason"] = .string(reason) }
        if let attempts { map["attempts"] = .int(Int64(attempts)) }
        for (name, _, _) in LabFigures.counts {
            if let count = counts[name] { map[name] = .int(Int64(count)) }
            if let count = least[name] { map[name] = .string("\(count)+") }
        }
        for (name, _, _) in LabFigures.times {
            if let time = times[name] { map[name] = .string(LabDuration.text(time)) }
        }
        return .map(map)
    }
}

extension LabExpectation: Decodable {
    /// Reads an expectation.
    public init(from decoder: any Decoder) throws {
        try UnknownKeys.refuse(in: decoder, besides: Self.keys, kind: "thing to expect")
        let values = try decoder.container(keyedBy: PathKey.self)
        guard !values.allKeys.isEmpty else { throw SettingMistake(decoder.codingPath, "it expects nothing") }
        status = try values.choice(
            PathKey("status"), ConnectionStatus.State.init, of: ConnectionStatus.State.allCases.map(\.rawValue),
            kind: "status")
        reason = try values.choice(
            PathKey("reason"), { ConnectionReason.labNames.contains($0) ? $0 : nil }, of: ConnectionReason.labNames,
            kind: "reason")
        attempts = try values.number(PathKey("attempts"), 0...LabNumber.maximum)
        for (name, _, _) in LabFigures.counts {
            if let count = Self.least(values, name) {
                least[name] = count
            } else {
                counts[name] = try values.number(PathKey(name), 0...LabNumber.maximum)
            }
        }
        for (name, _, _) in LabFigures.times { times[name] = try values.length(PathKey(name)) }
    }

    /// The number of a text such as `1+`; nil for anything else.
    private static func least(_ values: KeyedDecodingContainer<PathKey>, _ name: String) -> Int? {
        guard let text = try? values.decode(String.self, forKey: PathKey(name)), text.hasSuffix("+"),
            let count = Int(text.dropLast()), (0...LabNumber.maximum).contains(count)
        else { return nil }
        return count
    }
}

extension ConnectionReason {
    /// The reason's name in scenarios and logs.
    public var labName: String {
        switch self {
        case .closedByUser: "closedByUser"
        case .networkUnavailable: "networkUnavailable"
        case .connectionLost: "connectionLost"
        case .unreachable: "unreachable"
        case .timeLimit: "timeLimit"
        case .windowExpired: "windowExpired"
        case .backgrounded: "backgrounded"
        case .invalidCredentials: "invalidCredentials"
        case .authenticationFailed: "authenticationFailed"
        case .tokenExpired: "tokenExpired"
        case .credentialsRevoked: "credentialsRevoked"
        case .accessExpired: "accessExpired"
        case .kicked: "kicked"
        case .kickedByOtherDevice: "kickedByOtherDevice"
        case .banned: "banned"
        case .appBlocked: "appBlocked"
        case .deactivated: "deactivated"
        case .permissionsChanged: "permissionsChanged"
        case .proxyUnavailable: "proxyUnavailable"
        case .tlsFailure: "tlsFailure"
        case .store: "store"
        case .unknown: "unknown"
        }
    }

    /// All names that ``labName`` has.
    public static let labNames = [
        "closedByUser", "networkUnavailable", "connectionLost", "unreachable", "timeLimit", "windowExpired",
        "backgrounded", "invalidCredentials", "authenticationFailed", "tokenExpired", "credentialsRevoked",
        "accessExpired", "kicked", "kickedByOtherDevice", "banned", "appBlocked", "deactivated", "permissionsChanged",
        "proxyUnavailable",
        "tlsFailure", "store", "unknown",
    ]
}
