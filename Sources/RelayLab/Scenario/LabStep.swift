import JSON5
import Relay

/// A step of a scenario: an act or an expectation, with its time.
public struct LabStep: Hashable, Sendable {
    /// What a step does.
    public enum Kind: Hashable, Sendable {
        /// Carries out an act, for this long if it is lasting.
        case act(LabAct, lasting: Duration?)
        /// Waits until an expectation is met, for at most this long.
        case expectation(LabExpectation, within: Duration)
    }

    /// When it starts at the earliest, counted from the run's start; nil for right after the step before.
    public var at: Duration?
    /// How long to wait after the end of the step before.
    public var after: Duration?
    /// What it does.
    public var kind: Kind

    /// The default patience of an expectation.
    public static let patience = Duration.seconds(10)

    /// Makes a step.
    public init(at: Duration? = nil, after: Duration? = nil, _ kind: Kind) {
        (self.at, self.after, self.kind) = (at, after, kind)
    }

    /// Parses an act typed by hand: its name and its parameters, as in `delay by=200ms for=3s`.
    public init(parsing line: String) throws(LabScenarioError) {
        let words = line.split(whereSeparator: \.isWhitespace)
        guard let name = words.first else { throw LabScenarioError(words: "there is nothing here") }
        var map: MessageMap = ["do": .string(String(name))]
        for word in words.dropFirst() {
            let parts = word.split(separator: "=", maxSplits: 1)
            guard parts.count == 2 else {
                throw LabScenarioError(words: "“\(word)” is not a parameter; write one as by=200ms")
            }
            map[String(parts[0])] = Int64(parts[1]).map(MessageValue.int) ?? .string(String(parts[1]))
        }
        let text = JSONText.text(.map(map))
        do throws(JSON5Outline.Mistake) { self = try JSON5Document<LabStep>(.init(text.utf8)).value } catch {
            throw LabScenarioError(words: error.words)
        }
    }

    var value: MessageValue {
        var map = MessageMap()
        if let at { map["at"] = .string(LabDuration.text(at)) }
        if let after { map["after"] = .string(LabDuration.text(after)) }
        switch kind {
        case .act(let act, let lasting):
            for (key, value) in act.entries { map[key] = value }
            if let lasting { map["for"] = .string(LabDuration.text(lasting)) }
        case .expectation(let expectation, let within):
            map["expect"] = expectation.value
            if within != Self.patience { map["within"] = .string(LabDuration.text(within)) }
        }
        return .map(map)
    }
}

extension LabStep: Decodable {
    private enum Keys: String, CodingKey, CaseIterable {
        case at, after, act = "do", lasting = "for", expect, within
    }

    /// Reads a step.
    public init(from decoder: any Decoder) throws {
        let fields = LabAct.Field.allCases.map(\.rawValue)
        try UnknownKeys.refuse(in: decoder, besides: Keys.allCases.map(\.rawValue) + fields, kind: "part of a step")
        let values = try decoder.container(keyedBy: Keys.self)
        func refuse(_ key: Keys, _ words: String) throws {
            if values.contains(key) { throw SettingMistake(decoder.codingPath + [key], isKey: true, words) }
        }
        at = try values.length(.at)
        after = try values.length(.after)
        if values.contains(.expect) {
            try refuse(.act, "a step does something or expects something, not both")
            try refuse(.lasting, "an expectation has “within”, not “for”")
            kind = .expectation(
                try values.decode(LabExpectation.self, forKey: .expect),
                within: try values.length(.within) ?? Self.patience)
            let parts = try decoder.container(keyedBy: LabAct.Field.self)
            if let part = LabAct.Field.allCases.first(where: { parts.contains($0) }) {
                throw SettingMistake(
                    decoder.codingPath + [part], isKey: true,
                    "“\(part.rawValue)” belongs to an act, not to an expectation")
            }
            return
        }
        try refuse(.within, "“within” belongs to an expectation; an act has “for”")
        guard values.contains(.act) else {
            throw SettingMistake(decoder.codingPath, "it neither does anything (do) nor expects anything (expect)")
        }
        let act = try LabAct(from: decoder)
        let lasting = try values.length(.lasting)
        if lasting != nil, act.name.opposite == nil {
            throw SettingMistake(
                decoder.codingPath + [Keys.lasting], isKey: true,
                "“\(act.name.rawValue)” does not last, so it takes no “for”")
        }
        kind = .act(act, lasting: lasting)
    }
}
