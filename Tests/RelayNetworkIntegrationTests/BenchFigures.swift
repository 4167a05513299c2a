import Platform

/// A line of figures that a benchmark prints, which has one word among them.
struct BenchFigures: Decodable {
    var scenario: String
    var values: [String: Double] = [:]

    /// The figures of each scenario in a benchmark's output.
    static func all(in output: String) throws -> [String: [String: Double]] {
        var parts: [String: [String: Double]] = [:]
        for line in output.split(separator: "\n") {
            let figures = try JSONDecoder().decode(BenchFigures.self, from: Data(line.utf8))
            parts[figures.scenario] = figures.values
        }
        return parts
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        scenario = try container.decode(String.self, forKey: Key(stringValue: "scenario"))
        for key in container.allKeys where key.stringValue != "scenario" {
            values[key.stringValue] = try container.decode(Double.self, forKey: key)
        }
    }

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}
