import Relay
import Testing

@testable import RelayLab

@Suite("Lab: the report")
struct ReportTests {
    /// What a page says of each figure, found by nothing but its text.
    private func figures(in page: String) -> [String: String] {
        var found: [String: String] = [:]
        for part in page.components(after: "data-figure=\"") {
            let name = String(part.prefix { $0 != "\"" })
            found[name] = String(part.dropFirst(name.count + 2).prefix { $0 != "<" })
        }
        return found
    }

    @Test("The page's numbers are the ledger's and the log's")
    func pageFigures() throws {
        let run = try Story.troubled()
        let report = LabReport(LabRun(try LabLog(parsing: Array(run.log.text.utf8))))
        let shown = figures(in: report.page)
        guard case .ended(let logged, passed: false)? = run.log.events.last?.kind else {
            Issue.record("the log has no end")
            return
        }
        #expect(logged == run.ledger.figures)
        for (name, _, path) in LabFigures.counts {
            #expect(shown[name] == "\(logged[keyPath: path])", "\(name)")
        }
        for (name, _, path) in LabFigures.times {
            #expect(shown[name] == logged[keyPath: path].map { "\($0)" }, "\(name)")
        }
        #expect(shown.count == LabFigures.counts.count + LabFigures.times.count)
    }

    @Test("The page needs nothing else, runs nothing, and every tag is closed")
    func pageForm() throws {
        let page = LabReport(try Story.troubled()).page
        #expect(!page.contains("<script") && !page.contains("http") && !page.contains("url(h"))
        #expect(page.contains("cut &amp; &lt;restored&gt;") && !page.contains("<restored>"))
        #expect(page.contains("Acknowledged and never delivered: a 5."))
        #expect(page.contains("data-verdict=\"failed\"") && page.contains("@media print"))
        #expect(unclosed(in: page) == [])
    }

    @Test("The page has a drawing of the states, the faults and what went wrong, and the faults with their times")
    func drawing() throws {
        let page = LabReport(try Story.troubled()).page
        let drawing = try #require(page.components(after: "<svg").first?.components(before: "</svg>"))
        #expect(drawing.contains("<title>reconnecting</title>") && drawing.contains("cut reset"))
        #expect(drawing.contains("<title>missing</title>") && drawing.contains("<title>twice</title>"))
        #expect(!drawing.contains("nan") && !drawing.contains("inf"))
        #expect(page.contains("<td>0.100 s</td><td>cut reset</td><td></td>"))
        #expect(page.contains("<td>0.185 s</td><td>refuse</td><td>until 0.300 s</td>"))
        #expect(page.contains("Delivered behind a later one: a 3."))
    }

    @Test("An empty run has a page and lines too")
    func empty() {
        let report = LabReport(LabRun())
        #expect(unclosed(in: report.page) == [])
        #expect(report.lines(columns: 60).allSatisfy { !$0.contains("\u{1B}") })
    }

    @Test("The lines for a terminal have the same figures, and as many cells as there are columns")
    func lines() throws {
        let report = LabReport(try Story.troubled())
        let lines = report.lines(columns: 72)
        #expect(lines[0] == "cut & <restored>: failed")
        for (name, words, path) in LabFigures.counts {
            let line = lines.last { $0.hasPrefix(words + "  ") }
            #expect(line?.split(separator: " ").last.map(String.init) == "\(report.figures[keyPath: path])", "\(name)")
        }
        #expect(lines.contains { $0.hasPrefix("time to recover") && $0.hasSuffix("0.120 s") })
        let strips = report.strips(columns: 72)
        #expect(strips.first?.count == 12 + 48 && strips.contains { $0.hasPrefix("queued") && $0.hasSuffix("4") })
        #expect(strips.first { $0.hasPrefix("state") }?.contains("░") == true)
        #expect(report.lines(columns: 72, ascii: true).allSatisfy { $0.allSatisfy(\.isASCII) })
    }

    @Test("B61 A connection whose server does not answer has a shade of its own, and is no outage")
    func silence() {
        var story = Story()
        story.status("connected", at: 0)
        story.tell(.status(LabStatus(state: "connected", isSilent: true)), at: 400)
        story.status("connected", at: 600)
        story.tell(.status(LabStatus(state: "connected", isSilent: true)), at: 800)
        story.status("reconnecting", at: 900)
        story.status("connected", at: 1_000)
        story.tell(.note("all is well"), at: 1_400)
        story.end()
        let timeline = story.run.timeline
        #expect(timeline.states.map(\.what.isSilent) == [false, true, false, true, false, false])
        func runs(ascii: Bool) -> String {
            var cells = timeline.strips(columns: 80, ascii: ascii).first?.dropFirst(12) ?? ""
            var runs = ""
            while let cell = cells.popFirst() { if runs.last != cell { runs.append(cell) } }
            return runs
        }
        #expect(runs(ascii: false) == "█▓█▓░█" && runs(ascii: true) == "=-=-~=")
        let page = LabReport(story.run).page
        #expect(page.contains("connected, no answer") && page.contains("#f2e3b3"))
    }

    @Test("Remote words move no cursor and reorder no line in any form")
    func remoteWords() {
        var story = Story("title\u{1B}[2J\u{202E}\n<b>")
        story.status("connected")
        story.tell(.failed("gone\u{7}\u{202E}"))
        story.end()
        let report = LabReport(story.run)
        let texts = report.lines() + [LabReport.junit([report]), report.page]
        for text in texts {
            for scalar in text.unicodeScalars {
                #expect(scalar == "\n" || scalar.value >= 0x20 && scalar != "\u{202E}" && scalar != "\u{7F}")
            }
        }
    }

    @Test("JUnit has a case for each run, and a failure that names the messages")
    func junit() throws {
        var clean = Story("clean")
        try clean.sent(1...1)
        try clean.received([1])
        clean.end()
        let text = LabReport.junit([LabReport(clean.run), LabReport(try Story.troubled())])
        #expect(text.hasPrefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"2\" failures=\"1\">"))
        #expect(text.components(after: "<testcase ").count == 2 && text.components(after: "<failure ").count == 1)
        #expect(text.contains("type=\"lost\" message=\"Acknowledged and never delivered: a 5.\""))
        #expect(text.contains("name=\"cut &amp; &lt;restored&gt;\""))
        #expect(unclosed(in: text) == [])
    }

    @Test("A long run's curve keeps its form in a bounded number of points")
    func bounded() {
        var series = LabSeries<Int>()
        for index in 0..<50_000 { series.append(index, at: .ms(Int64(index))) }
        #expect(series.points.count < LabSeries<Int>.maximumCount && series.points.count > 1_000)
        #expect((series.points.last?.value ?? 0) > 49_900)
        #expect(series.points.map(\.value) == series.points.map(\.value).sorted())
    }

    @Test("Each attempt is one mark, and states follow each other without a hole")
    func timeline() throws {
        let timeline = try Story.troubled().timeline
        #expect(timeline.attempts.points.map(\.value) == [1, 1])
        #expect(
            timeline.states.map(\.what.state)
                == ["initialized", "connecting", "connected", "reconnecting", "connected"])
        #expect(zip(timeline.states, timeline.states.dropFirst()).allSatisfy { $0.to == $1.from })
        #expect(timeline.faults.map(\.what.name) == ["cut", "refuse"])
        #expect(timeline.faults.map { $0.to } == [.ms(100), .ms(300)])
        #expect(timeline.marks.points.map(\.value).filter { $0 != .sent } == [.recovered, .doubled])
    }

    /// The elements of a text that are opened and not closed, and those closed that are not open.
    private func unclosed(in text: String) -> [String] {
        let empty: Set = ["meta", "!DOCTYPE", "?xml"]
        var open: [String] = []
        for part in text.components(after: "<") {
            let tag = part.prefix { $0 != ">" }
            let name = String(tag.prefix { !$0.isWhitespace && $0 != "/" })
            if tag.hasPrefix("/") {
                let closed = String(tag.dropFirst())
                guard open.last == closed else { return open + ["/" + closed] }
                open.removeLast()
            } else if !tag.hasSuffix("/"), !empty.contains(name) {
                open.append(name)
            }
        }
        return open
    }
}

extension String {
    /// What stands behind each place of a mark, up to the next one.
    fileprivate func components(after mark: String) -> [String] {
        Array(split(separator: mark, omittingEmptySubsequences: false).dropFirst().map(String.init))
    }

    /// What stands before the first place of a mark.
    fileprivate func components(before mark: String) -> String {
        split(separator: mark, omittingEmptySubsequences: false).first.map(String.init) ?? ""
    }
}
