import Relay
import RelayNetwork

extension NetworkReport {
    /// The object for scripts, to which the command adds its own keys.
    var json: MessageMap {
        [
            "network": .string(network), "running": true, "server": MessageValue(servers.first(where: \.answers)?.name),
            "version": MessageValue(servers.first(where: \.answers)?.version), "clients": MessageValue(clients),
            "users": MessageValue(users), "whole": .bool(isWhole), "servers": .array(servers.map(\.json)),
            "streams": streams.map { .array($0.map(\.json)) } ?? .null, "postboxes": postboxes?.json ?? .null,
            "services": services.map { .array($0.map(\.json)) } ?? .null,
            "troubles": MessageValue(troubles),
        ]
    }

    var lines: [String] {
        let answering = servers.count(where: \.answers)
        var lines = ["\(network): \(answering) of \(servers.count) servers answer" + connected]
        func add(_ rows: [[String]]) { lines += Output.table(rows).map { "  " + $0 } }
        add(
            servers.map { server in
                [
                    server.name, server.version.map { "nats-server \($0)" } ?? "",
                    server.answers ? server.connections.map { "\($0) connected" } ?? "" : "does not answer",
                ]
            })
        if let streams {
            lines.append("streams")
            add(streams.map(\.cells))
        }
        if let postboxes { lines.append(postboxes.line) }
        if let services {
            lines.append(services.count == 1 ? "1 service answers" : "\(services.count) services answer")
            add(
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
}

extension NetworkReport.Server {
    fileprivate var json: MessageValue {
        [
            "name": .string(name), "version": MessageValue(version), "connections": MessageValue(connections),
            "answers": .bool(answers),
        ]
    }
}

extension NetworkReport.Stream {
    fileprivate var json: MessageValue {
        [
            "name": .string(name), "leader": MessageValue(leader), "messages": .integer(messages),
            "bytes": .integer(bytes), "limit": limit.map(MessageValue.int) ?? .null,
            "copies": .array(
                copies.map { copy in
                    .map([
                        "server": .string(copy.server), "current": .bool(copy.isCurrent),
                        "offline": .bool(copy.isOffline), "lag": .integer(copy.lag),
                    ])
                }),
        ]
    }

    fileprivate var cells: [String] {
        guard let leader else { return [name, "no leader: it cannot be read or written now"] }
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
        [
            "streams": MessageValue(streams), "messages": .integer(messages),
            "bytes": .integer(bytes), "withoutLeader": MessageValue(leaderlessCount),
            "partial": MessageValue(partial), "firstWithoutLeader": MessageValue(leaderless),
        ]
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
        [
            "id": .string(id), "started": .string(started), "requests": .integer(requests), "errors": .integer(errors),
        ]
    }
}
