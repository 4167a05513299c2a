import Relay
import RelayNetwork

extension NetworkReport {
    /// The object that `--json` prints, beside what the command itself says.
    var json: MessageMap {
        [
            "network": .string(network), "running": true, "server": MessageValue(servers.first(where: \.answers)?.name),
            "version": MessageValue(servers.first(where: \.answers)?.version), "clients": Self.number(clients),
            "users": Self.number(users), "whole": .bool(isWhole), "servers": .array(servers.map(\.json)),
            "streams": streams.map { .array($0.map(\.json)) } ?? .null, "postboxes": postboxes?.json ?? .null,
            "services": services.map { .array($0.map(\.json)) } ?? .null,
            "troubles": .array(troubles.map(MessageValue.string)),
        ]
    }

    fileprivate static func number(_ count: Int?) -> MessageValue { count.map { .int(Int64($0)) } ?? .null }
    fileprivate static func number(_ count: UInt64) -> MessageValue { .int(Int64(clamping: count)) }

    /// The same for a person, line by line. Names are the servers' own words.
    var lines: [String] {
        let answering = servers.count(where: \.answers)
        var lines = ["\(network): \(answering) of \(servers.count) servers answer" + connected]
        lines += Self.table(
            servers.map { server in
                [
                    server.name, server.version.map { "nats-server \($0)" } ?? "",
                    server.answers ? server.connections.map { "\($0) connected" } ?? "" : "does not answer",
                ]
            })
        if let streams {
            lines.append("streams")
            lines += Self.table(streams.map(\.cells))
        }
        if let postboxes { lines.append(postboxes.line) }
        if let services {
            lines.append(services.count == 1 ? "1 service answers" : "\(services.count) services answer")
            lines += Self.table(
                services.map {
                    [$0.id, "since \($0.started)", "\($0.requests) requests, \($0.errors) without an answer"]
                })
        }
        return lines.map(Output.safe)
    }

    fileprivate static func words(_ messages: UInt64) -> String {
        messages == 1 ? "1 message" : "\(messages) messages"
    }

    private var connected: String {
        guard let users, let clients else { return "" }
        return ", \(users) \(users == 1 ? "user" : "users") connected"
            + (clients == users ? "" : " by \(clients) connections")
    }

    /// Rows whose cells stand below each other.
    private static func table(_ rows: [[String]]) -> [String] {
        let columns = rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in
            rows.map { $0.indices.contains(column) ? $0[column].count : 0 }.max() ?? 0
        }
        return rows.map { row in
            let cells = row.enumerated().map { index, cell in
                index == row.count - 1 ? cell : cell + String(repeating: " ", count: widths[index] - cell.count)
            }
            var line = "  " + cells.joined(separator: "  ")
            while line.last == " " { line.removeLast() }
            return line
        }
    }
}

extension NetworkReport.Server {
    fileprivate var json: MessageValue {
        .map([
            "name": .string(name), "version": MessageValue(version), "connections": NetworkReport.number(connections),
            "answers": .bool(answers),
        ])
    }
}

extension NetworkReport.Stream {
    fileprivate var json: MessageValue {
        .map([
            "name": .string(name), "leader": MessageValue(leader), "messages": NetworkReport.number(messages),
            "bytes": NetworkReport.number(bytes), "limit": limit.map(MessageValue.int) ?? .null,
            "copies": .array(
                copies.map { copy in
                    .map([
                        "server": .string(copy.server), "current": .bool(copy.isCurrent),
                        "offline": .bool(copy.isOffline), "lag": NetworkReport.number(copy.lag),
                    ])
                }),
        ])
    }

    fileprivate var cells: [String] {
        guard let leader else { return [name, "nobody leads it: it takes and gives nothing now"] }
        let fill = limit.map { limit in
            let share = limit > 0 ? Int(min(999, Double(bytes) * 100 / Double(limit))) : 0
            return "\(Wording.bytes(bytes)) of \(Wording.bytes(UInt64(clamping: limit))), \(share) %"
        }
        return [
            name, "led by \(leader)", copies.map(\.words).joined(separator: ", "),
            "\(NetworkReport.words(messages)), \(fill ?? Wording.bytes(bytes))",
        ]
    }
}

extension NetworkReport.Copy {
    fileprivate var words: String {
        if isOffline { return "\(server) away" }
        if isCurrent { return server }
        return lag > 0 ? "\(server) \(lag) behind" : "\(server) behind"
    }
}

extension NetworkReport.Postboxes {
    fileprivate var json: MessageValue {
        .map([
            "streams": NetworkReport.number(streams), "messages": NetworkReport.number(messages),
            "bytes": NetworkReport.number(bytes), "withoutLeader": NetworkReport.number(leaderlessCount),
            "partial": NetworkReport.number(partial), "firstWithoutLeader": .array(leaderless.map(MessageValue.string)),
        ])
    }

    fileprivate var line: String {
        var line =
            "letters of \(streams) \(streams == 1 ? "user" : "users"): \(NetworkReport.words(messages)), \(Wording.bytes(bytes))"
        if partial > 0 { line += ", \(partial) with a copy that is behind or away" }
        if leaderlessCount > 0 {
            let more = leaderlessCount > leaderless.count ? " …" : ""
            line += ", nobody leads \(leaderless.joined(separator: " "))\(more)"
        }
        return line
    }
}

extension NetworkReport.Service {
    fileprivate var json: MessageValue {
        .map([
            "id": .string(id), "started": .string(started), "requests": NetworkReport.number(requests),
            "errors": NetworkReport.number(errors),
        ])
    }
}
