/// The result of a chaos run.
struct ChaosReport: Sendable {
    let plan: ChaosPlan
    let version: String
    /// Of the stream and of each subscriber's store.
    var tallies: [(place: String, tally: ChaosTally)] = []
    /// Messages left in publishers' journals at the end.
    var unsent = 0
    var serverKills = 0
    var processKills: [(name: String, kills: Int)] = []
    var cuts = 0
    /// Seconds from the first process to the last kept message.
    var seconds = 0.0
    /// The broken promises that clients reported.
    var notes: [String] = []
    /// The folder with the run's files, if it is kept.
    var folder: String?

    /// Whether each message is everywhere, once and in order, no reader was told otherwise, and the plan was carried
    /// out in full: a run with fewer kills proves less.
    var holds: Bool { keepsPromises && undone.isEmpty }

    private var keepsPromises: Bool { tallies.allSatisfy(\.tally.isPerfect) && unsent == 0 && notes.isEmpty }

    /// Planned but undone parts. Cuts do not count, since there may be no link at that moment.
    var undone: [String] {
        var undone: [String] = []
        if serverKills != plan.serverKills {
            undone.append("servers were killed \(serverKills) of \(plan.serverKills) times")
        }
        for (name, kills) in processKills where kills != plan.processKills {
            undone.append("\(name) was killed \(kills) of \(plan.processKills) times")
        }
        let processes = ChaosPlan.publishers + ChaosPlan.subscribers
        if processKills.count != processes { undone.append("\(processKills.count) of \(processes) clients ran") }
        // The stream, and each subscriber's store.
        let places = 1 + ChaosPlan.subscribers
        if tallies.count != places { undone.append("messages were counted in \(tallies.count) of \(places) places") }
        return undone
    }

    private var allProcessKills: Int { processKills.reduce(0) { $0 + $1.kills } }

    var text: String {
        let servers = plan.servers == 1 ? "one server" : "a network of \(plan.servers) servers"
        let processes = (ChaosPlan.publishers + ChaosPlan.subscribers) * plan.processKills
        var lines = [
            "chaos on \(servers), version \(version), seed \(plan.seed)",
            "\(plan.messages) messages on \(plan.topics) topics in \(Measurement.text(seconds)) s",
            "killed: servers \(serverKills) of \(plan.serverKills), clients \(allProcessKills) of \(processes); "
                + "links cut: \(cuts)",
            row("", ["stored", "duplicates", "lost", "out of order", "strange"]),
        ]
        for (place, tally) in tallies {
            let figures = [tally.stored, tally.duplicates, tally.lost, tally.disorder, tally.strangers]
            lines.append(row(place, figures.map { "\($0)" }))
        }
        if unsent > 0 { lines.append("\(unsent) messages were never sent") }
        lines += notes
        lines += undone.map { "not done as planned: \($0)" }
        if let folder { lines.append("the files are in \(folder)") }
        lines.append(verdict)
        return lines.joined(separator: "\n")
    }

    private var verdict: String {
        guard keepsPromises else { return "THE PROMISE IS BROKEN" }
        return undone.isEmpty
            ? "each message is everywhere, once and in order" : "THE RUN PROVES NOTHING: not all was done as planned"
    }

    private func row(_ name: String, _ cells: [String]) -> String {
        cells.reduce(name.padded(to: 14)) { line, cell in
            line + String(repeating: " ", count: max(1, 14 - cell.count)) + cell
        }
    }

    var measurement: Measurement {
        func worst(_ figure: (ChaosTally) -> Int) -> Int { tallies.map { figure($0.tally) }.max() ?? 0 }
        return Measurement("chaos").adding([
            "n": plan.messages, "servers": plan.servers, "seed": plan.seed, "server_kills": serverKills,
            "process_kills": allProcessKills, "cuts": cuts, "seconds": seconds,
            "stored": tallies.first?.tally.stored ?? 0, "duplicates": worst(\.duplicates), "lost": worst(\.lost),
            "disorder": worst(\.disorder), "unsent": unsent, "notes": notes.count, "holds": holds ? 1 : 0,
            "hwm_kb": Meter.peakMemory(),
        ])
    }
}
