import Relay

/// Why a text is no log of a run.
public struct LabLogError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The line, from 1 on; nil where a single event was read.
    public var line: Int?
    /// What is wrong.
    public var words: String

    init(_ words: String, line: Int? = nil) {
        self.words = words
        self.line = line
    }

    /// The words, behind the line where there is one.
    public var description: String { (line.map { "line \($0): " } ?? "") + words }
}

/// The events of a run in their order, as lines of JSON (RFC 8259), one object each.
public struct LabLog: Hashable, Sendable {
    /// Most events that are kept; a run has fewer unless it is driven by hand for hours.
    public static let maximumEvents = 500_000

    /// The events.
    public private(set) var events: [LabEvent] = []
    /// How many more there were.
    public private(set) var omitted = 0

    /// A log without events.
    public init() {}

    /// Adds an event.
    public mutating func append(_ event: LabEvent) {
        guard events.count < Self.maximumEvents else {
            omitted += 1
            return
        }
        events.append(event)
    }

    /// The lines, each with its end.
    public var text: String {
        var bytes: [UInt8] = []
        for event in events {
            JSONText.append(.map(event.json), to: &bytes)
            bytes.append(UInt8(ascii: "\n"))
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Reads what ``text`` wrote. Empty lines are passed over.
    ///
    /// - Throws: ``LabLogError`` with the line.
    public init(parsing text: some Collection<UInt8>) throws(LabLogError) {
        var number = 0
        for line in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            number += 1
            guard line.contains(where: { $0 > 0x20 }) else { continue }
            guard events.count < Self.maximumEvents else {
                throw LabLogError("there are more than \(Self.maximumEvents) events", line: number)
            }
            let value: MessageValue
            do throws(JSONError) { value = try JSONText.parse(bytes: line) } catch {
                throw LabLogError("it is no JSON", line: number)
            }
            guard case .map(let map) = value else { throw LabLogError("it is no JSON object", line: number) }
            do throws(LabLogError) { events.append(try LabEvent(map)) } catch {
                throw LabLogError(error.words, line: number)
            }
        }
    }
}
