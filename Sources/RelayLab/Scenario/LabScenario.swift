import JSON5
import Platform
import Relay

/// A mistake in a scenario, with its place.
public struct LabScenarioError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The line, from 1.
    public var line = 1
    /// The column, from 1.
    public var column = 1
    /// What is wrong, and what to write instead.
    public var words: String

    /// `3:12: what is wrong`.
    public var description: String { "\(line):\(column): \(words)" }
}

/// What a run does and expects, in JSON5 like the configuration, so it may contain comments and trailing commas.
///
///     { title: "a cut", steps: [ { do: "cut" }, { expect: { status: "connected" } } ] }
public struct LabScenario: Hashable, Sendable {
    /// A one-line title.
    public var title: String
    /// A description; empty for none.
    public var about = ""
    /// The random seed; nil to draw one.
    public var seed: UInt64?
    /// The speed-up factor over real time, also of the client's policies.
    public var speed = 1.0
    /// The topic.
    public var topic = "lab"
    /// The settings of the client under test.
    public var client: LabClientSettings
    /// The steps, in order.
    public var steps: [LabStep]

    /// The maximum number of steps.
    public static let maximumSteps = 10_000
    private static let maximumBytes = 1 << 20

    /// Makes a scenario.
    public init(title: String, seed: UInt64? = nil, client: LabClientSettings = .init(), steps: [LabStep] = []) {
        (self.title, self.seed, self.client, self.steps) = (title, seed, client, steps)
    }

    /// Reads a scenario's file.
    public init(parsing text: some Collection<UInt8>) throws(LabScenarioError) {
        guard text.count <= Self.maximumBytes else {
            throw LabScenarioError(words: "it is too large to be a scenario")
        }
        do throws(JSON5Outline.Mistake) { self = try JSON5Document<LabScenario>(Data(text)).value } catch {
            throw LabScenarioError(line: error.place.line, column: error.place.column, words: error.words)
        }
    }

    /// Whether it needs a network that Parley started.
    public var needsNetwork: Bool { acts.contains(where: \.needsNetwork) }

    /// Whether it needs a cluster of three servers.
    public var needsCluster: Bool { acts.contains(where: \.needsCluster) }

    private var acts: [LabAct.Name] {
        steps.compactMap { if case .act(let act, _) = $0.kind { act.name } else { nil } }
    }

    /// The file's text, which ``init(parsing:)`` reads.
    public var text: String {
        var lines = ["{", "    title: \(JSONText.quote(title)),"]
        if !about.isEmpty { lines.append("    about: \(JSONText.quote(about)),") }
        if let seed { lines.append("    seed: \(seed),") }
        if speed != 1 { lines.append("    speed: \(LabReport.number(speed)),") }
        if topic != "lab" { lines.append("    topic: \(JSONText.quote(topic)),") }
        let settings = client.value
        if settings.mapValue?.isEmpty == false {
            lines.append("    client: \(JSONText.text(settings, spaced: true)),")
        }
        lines.append("    steps: [")
        lines += steps.map { "        \(JSONText.text($0.value, spaced: true))," }
        return (lines + ["    ],", "}", ""]).joined(separator: "\n")
    }
}

extension LabScenario: Decodable {
    private enum Keys: String, CodingKey, CaseIterable { case title, about, seed, speed, topic, client, steps }

    /// Reads a scenario.
    public init(from decoder: any Decoder) throws {
        try UnknownKeys.refuse(in: decoder, besides: Keys.allCases.map(\.rawValue), kind: "part of a scenario")
        let values = try decoder.container(keyedBy: Keys.self)
        guard values.contains(.steps) else {
            throw SettingMistake(decoder.codingPath, "it has no steps: steps: [ { do: \"cut\" } ]")
        }
        self.init(
            title: try values.decodeIfPresent(String.self, forKey: .title) ?? "a scenario",
            client: try values.decodeIfPresent(LabClientSettings.self, forKey: .client) ?? LabClientSettings())
        about = try values.decodeIfPresent(String.self, forKey: .about) ?? about
        seed = try values.decodeIfPresent(Double.self, forKey: .seed).map { number in
            guard let whole = UInt64(exactly: number), number < 0x1p53 else {
                throw SettingMistake(values.codingPath + [Keys.seed], "it takes a whole number, 0 or more")
            }
            return whole
        }
        speed = try values.decodeIfPresent(Double.self, forKey: .speed) ?? speed
        guard (0.01...1_000).contains(speed) else {
            throw SettingMistake(values.codingPath + [Keys.speed], "it takes a number from 0.01 to 1000")
        }
        topic = try values.decodeIfPresent(String.self, forKey: .topic) ?? topic
        do throws(TopicError) { _ = try Topic(topic) } catch {
            throw SettingMistake(values.codingPath + [Keys.topic], "\(error)")
        }
        var list = try values.nestedUnkeyedContainer(forKey: .steps)
        while !list.isAtEnd {
            guard steps.count < Self.maximumSteps else {
                throw SettingMistake(
                    list.codingPath + [PathKey(list.currentIndex)], "there are more than \(Self.maximumSteps) steps")
            }
            steps.append(try list.decode(LabStep.self))
        }
    }
}
