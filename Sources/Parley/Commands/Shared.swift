import ArgumentParser
import Platform
import Relay

// Printed values have a `json`, the object for scripts, and a `line` or `lines` for people.

struct SinceOption: ParsableArguments {
    @Option(help: "Begin earlier: all, a duration such as 15m, or an ISO 8601 time.")
    var since: String?

    func validate() throws {
        guard let since, PastTime(since) == nil else { return }
        throw ValidationError("--since takes all, a duration such as 15m, or an ISO 8601 time.")
    }

    var start: SubscriptionStart {
        switch since.flatMap({ PastTime($0) }) {
        case nil: .new
        case .all: .all
        case .at(let time): .time(time)
        }
    }
}

struct MessageStyleOptions: ParsableArguments {
    @Flag(help: "Print each stored message in full, as JSON.") var raw = false
    @Flag(help: "Print one JSON object for each message.") var json = false

    var style: MessagePrinter.Style { raw ? .raw : json ? .json : .text }
}

extension ConnectionPlan {
    /// Connects for one piece of work, and closes the client if it succeeds; after a failure the process ends anyway.
    ///
    /// - Throws: a failure that says why there is no connection, in place of a `RelayError`.
    func connected<Value>(_ work: (RelayClient) async throws -> Value) async throws -> Value {
        let client = try await Connector(self).connect()
        let value: Value
        do { value = try await work(client) } catch let error as RelayError { throw client.explained(error) }
        await client.close()
        return value
    }
}

extension Output {
    /// Aligns the cells of rows, two spaces apart.
    static func table(_ rows: [[String]]) -> [String] {
        var widths: [Int] = []
        for row in rows {
            widths += Array(repeating: 0, count: max(0, row.count - widths.count))
            for (column, cell) in row.enumerated() { widths[column] = max(widths[column], cell.count) }
        }
        return rows.map { row in
            let cells = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
            var line = cells.joined(separator: "  ")
            while line.last == " " { line.removeLast() }
            return line
        }
    }
}

func contents(ofFile path: String) throws(CommandFailure) -> Data {
    guard let data = FileManager.default.contents(atPath: path) else {
        throw CommandFailure(.badData, "\(path) cannot be read.")
    }
    return data
}
