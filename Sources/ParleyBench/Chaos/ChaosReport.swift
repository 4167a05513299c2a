/// What came of a chaos run.
struct ChaosReport: Sendable {
    let plan: ChaosPlan
    let version: String
    /// What is stored, and in which order: on the stream, and in each subscriber's store.
    var tallies: [(place: String, tally: ChaosTally)] = []
    /// Messages that a publisher's journal still has at its end.
    var unsent = 0
    var serverKills = 0
    var processKills = 0
    var cuts = 0
    /// Seconds from the first process to the last kept message.
    var seconds = 0.0
    /// What clients were told that they should never be told.
    var notes: [String] = []
    /// Where the run's files are, if they stay.
    var folder: String?

    /// Whether each accepted message is everywhere, once and in order, and no reader was told otherwise.
    var holds: Bool { tallies.allSatisfy(\.tally.isPerfect) && unsent == 0 && notes.isEmpty }

    var text: String {
        let servers = plan.servers == 1 ? "one server" : "\(plan.servers) servers"
        let processes = (ChaosPlan.publishers + ChaosPlan.subscribers) * plan.processKills
        var lines = [
            "chaos on \(servers), version \(version), seed \(plan.seed)",
            "\(plan.messages) messages on \(plan.topics) topics in \(Measurement.text(seconds)) s",
            "killed: servers \(serverKills) of \(plan.serverKills), clients \(processKills) of \(processes); "
                + "links cut: \(cuts)",
            row("", ["stored", "duplicates", "lost", "out of order", "strange"]),
        ]
        for (place, tally) in tallies {
            let figures = [tally.stored, tally.duplicates, tally.lost, tally.disorder, tally.strangers]
            lines.append(row(place, figures.map { "\($0)" }))
        }
        if unsent > 0 { lines.append("\(unsent) messages were never sent") }
        lines += notes
        if let folder { lines.append("the files are in \(folder)") }
        lines.append(holds ? "each message is everywhere, once and in order" : "THE PROMISE IS BROKEN")
        lines.append(measurement.json)
        return lines.joined(separator: "\n")
    }

    private func row(_ name: String, _ cells: [String]) -> String {
        let blanks = String(repeating: " ", count: max(0, 14 - name.count))
        return cells.reduce(name + blanks) { line, cell in
            line + String(repeating: " ", count: max(1, 14 - cell.count)) + cell
        }
    }

    private var measurement: Measurement {
        let worst = { (figure: (ChaosTally) -> Int) in Double(tallies.map { figure($0.tally) }.max() ?? 0) }
        return Measurement(ChaosScenario.name).adding("n", Double(plan.messages))
            .adding("servers", Double(plan.servers)).adding("seed", Double(plan.seed))
            .adding("server_kills", Double(serverKills)).adding("process_kills", Double(processKills))
            .adding("cuts", Double(cuts)).adding("seconds", seconds)
            .adding("stored", Double(tallies.first?.tally.stored ?? 0)).adding("duplicates", worst(\.duplicates))
            .adding("lost", worst(\.lost)).adding("disorder", worst(\.disorder)).adding("unsent", Double(unsent))
            .adding("notes", Double(notes.count)).adding("holds", holds ? 1 : 0)
            .adding("hwm_kb", Meter.peakMemory())
    }
}
