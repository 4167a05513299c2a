import JSON5
import NATS
import Relay

/// An expectation of a scenario. Everything in it must be true at the same time, except for the status and its reason,
/// which may have occurred at any time since the last act.
public struct LabExpectation: Hashable, Sendable {
    /// The state.
    public var status: ConnectionStatus.State?
    /// The reason, named as in ``Relay/ConnectionReason/labName``.
    public var reason: String?
    /// The minimum number of attempts since the last act.
    public var attempts: Int?
    /// The bounds of the ledger's figures, by their names in ``LabFigures``.
    public var figures: [String: Bound] = [:]

    /// A bound of a figure.
    public enum Bound: Hashable, Sendable {
        /// A count that is exactly this.
        case exactly(Int)
        /// A count that is at least this; written as a text such as `"1+"`.
        case atLeast(Int)
        /// A time that is at most this.
        case atMost(Duration)

        func admits(_ count: Int) -> Bool {
            switch self {
            case .exactly(let wanted): count == wanted
            case .atLeast(let least): count >= least
            case .atMost: true
            }
        }

        func admits(_ time: LabTime?) -> Bool {
            if case .atMost(let most) = self { time.map { $0.duration <= most } ?? false } else { true }
        }

        fileprivate var words: String {
            switch self {
            case .exactly(let count): "\(count)"
            case .atLeast(let count): "at least \(count)"
            case .atMost(let time): "at most \(LabDuration.text(time))"
            }
        }

        fileprivate var value: MessageValue {
            switch self {
            case .exactly(let count): .int(Int64(count))
            case .atLeast(let count): .string("\(count)+")
            case .atMost(let time): .string(LabDuration.text(time))
            }
        }
    }

    private static let names = LabFigures.counts.map(\.name) + LabFigures.times.map(\.name)

    /// The bounds, in the order in which they are written.
    private var bounds: [(name: String, bound: Bound)] {
        Self.names.compactMap { name in figures[name].map { (name, $0) } }
    }

    /// `status reconnecting, reason kicked, lost 0, recovery at most 5s`.
    public var words: String {
        var words: [String] = []
        if let status { words.append("status \(status.rawValue)") }
        if let reason { words.append("reason \(reason)") }
        if let attempts { words.append("attempts at least \(attempts)") }
        return (words + bounds.map { "\($0.name) \($0.bound.words)" }).joined(separator: ", ")
    }

    /// The figures outside their bounds, such as `lost 0`.
    func unmet(by figures: LabFigures) -> [String] {
        let counts = LabFigures.counts.compactMap { name, _, path -> String? in
            let count = figures[keyPath: path]
            return self.figures[name]?.admits(count) == false ? "\(name) \(count)" : nil
        }
        let times = LabFigures.times.compactMap { name, _, path -> String? in
            let time = figures[keyPath: path]
            return self.figures[name]?.admits(time) == false ? "\(name) " + (time.map { "\($0)" } ?? "none") : nil
        }
        return counts + times
    }

    var value: MessageValue {
        var map = MessageMap()
        if let status { map["status"] = .string(status.rawValue) }
        if let reason { map["reason"] = .string(reason) }
        if let attempts { map["attempts"] = .int(Int64(attempts)) }
        for (name, bound) in bounds { map[name] = bound.value }
        return .map(map)
    }
}

extension LabExpectation: Decodable {
    /// Reads an expectation.
    public init(from decoder: any Decoder) throws {
        let keys = ["status", "reason", "attempts"] + Self.names
        try UnknownKeys.refuse(in: decoder, besides: keys, kind: "thing to expect")
        let values = try decoder.container(keyedBy: PathKey.self)
        guard !values.allKeys.isEmpty else { throw SettingMistake(decoder.codingPath, "it expects nothing") }
        status = try values.choice(PathKey("status"), kind: "status")
        reason = try values.choice(PathKey("reason"), of: ConnectionReason.labNames, kind: "reason")
        attempts = try values.number(PathKey("attempts"), 0...LabNumber.maximum)
        for (name, _, _) in LabFigures.counts {
            let least = (try? values.decode(String.self, forKey: PathKey(name))).flatMap(Self.least)
            figures[name] =
                try least.map { .atLeast($0) }
                ?? values.number(PathKey(name), 0...LabNumber.maximum).map { .exactly($0) }
        }
        for (name, _, _) in LabFigures.times { figures[name] = try values.length(PathKey(name)).map { .atMost($0) } }
    }

    /// The number of a text such as `1+`; nil for anything else.
    private static func least(_ text: String) -> Int? {
        text.hasSuffix("+") ? Int(text.dropLast()).flatMap { (0...LabNumber.maximum).contains($0) ? $0 : nil } : nil
    }
}

extension ConnectionReason {
    /// The reason's name in scenarios and logs: that of its case.
    public var labName: String {
        switch self {
        case .closedByUser: "closedByUser"
        case .networkUnavailable: "networkUnavailable"
        case .windowExpired: "windowExpired"
        case .backgrounded: "backgrounded"
        case .tokenExpired: "tokenExpired"
        // The other cases have values, labelled with the case's name.
        default: Mirror(reflecting: self).children.first?.label ?? "unknown"
        }
    }

    /// All possible values of ``labName``.
    public static let labNames = [
        "closedByUser", "networkUnavailable", "connectionLost", "unreachable", "timeLimit", "windowExpired",
        "backgrounded", "invalidCredentials", "authenticationFailed", "tokenExpired", "credentialsRevoked",
        "accessExpired", "kicked", "kickedByOtherDevice", "banned", "appBlocked", "deactivated", "permissionsChanged",
        "proxyUnavailable", "tlsFailure", "store", "unknown",
    ]
}
