import Platform
import Relay

/// Why a text is not a log of a run.
public struct LabLogError: Error, Hashable, Sendable {
    /// The line, from 1.
    public var line: Int
    /// What is wrong.
    public var words: String
}

/// The events of a run in order, as lines of JSON (RFC 8259), one object each.
public struct LabLog: Hashable, Sendable {
    /// The maximum number of events; a run has fewer unless it is driven by hand for hours.
    public static let maximumEvents = 500_000

    /// The events.
    public private(set) var events: [LabEvent] = []

    init() {}

    /// Adds an event.
    public mutating func append(_ event: LabEvent) {
        if events.count < Self.maximumEvents { events.append(event) }
    }

    /// The lines, each with its line break.
    public var text: String { events.map { JSONText.text(.map($0.json)) + "\n" }.joined() }

    /// A value as a JSON object with sorted keys.
    static func object(_ value: some Encodable) -> MessageMap {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        guard let data = try? encoder.encode(value), let text = try? JSONText.parse(bytes: data) else { return [:] }
        return text.mapValue ?? [:]
    }

    /// Parses ``text``. Empty lines are skipped.
    public init(parsing text: some Collection<UInt8>) throws(LabLogError) {
        let decoder = JSONDecoder()
        let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (number, line) in zip(1..., lines) {
            guard line.contains(where: { $0 > 0x20 }) else { continue }
            guard events.count < Self.maximumEvents else {
                throw LabLogError(line: number, words: "there are more than \(Self.maximumEvents) events")
            }
            do { events.append(try decoder.decode(LabEvent.self, from: Data(line))) } catch {
                throw LabLogError(line: number, words: Self.words(error))
            }
        }
    }

    /// Why a line cannot be read, without the decoder's names of types.
    private static func words(_ error: any Error) -> String {
        switch error {
        case DecodingError.keyNotFound(let key, _): "it has no “\(key.stringValue)”"
        case DecodingError.typeMismatch(_, let found), DecodingError.valueNotFound(_, let found),
            DecodingError.dataCorrupted(let found):
            found.codingPath.last.map { "“\($0.stringValue)” cannot be read" } ?? "it is no JSON object"
        default: "it cannot be read"
        }
    }
}
