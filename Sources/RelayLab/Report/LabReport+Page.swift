extension LabReport {
    /// The report as a single self-contained HTML page, without scripts, readable in print and in grey.
    public var page: String {
        var lines = [
            "<!DOCTYPE html>", "<html lang=\"en\">", "<head>", "<meta charset=\"utf-8\">",
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">",
            "<title>\(MarkupText.escaped(title)): \(outcome)</title>", "<style>", Self.style, "</style>", "</head>",
            "<body>", "<h1>\(MarkupText.escaped(title))</h1>",
            "<p class=\"\(outcome)\" data-verdict=\"\(outcome)\">\(outcome)</p>",
            "<p>\(MarkupText.escaped(circumstances))</p>",
        ]
        if !verdict.findings.isEmpty {
            lines += ["<h2>What went wrong</h2>", "<ul>"]
            lines += verdict.findings.map { "<li data-finding=\"\($0.kind)\">\(MarkupText.escaped($0.words))</li>" }
            lines.append("</ul>")
        }
        lines += ["<h2>Timeline</h2>", LabDrawing(self).svg]
        lines += table("Faults", timeline.faults) { span in
            let (fault, until) = (span.what, span.to == span.from ? "" : span.to.map { "until \($0)" } ?? "to the end")
            return ["\(span.from)", fault.words, until]
        }
        lines += ["<h2>Ledger</h2>", "<table>"]
        lines += figures.rows.map { name, words, value in
            "<tr><th scope=\"row\">\(words)</th><td data-figure=\"\(name)\">\(value)</td></tr>"
        }
        lines.append("</table>")
        lines += table("Expectations", expectations) { result in
            let instead = result.instead.map { "; there was \($0)" } ?? ""
            return ["\(result.took)", result.words, (result.isMet ? "met" : "not met") + instead]
        }
        lines += table("Connection", timeline.states) { span in
            ["\(span.from)", span.what.name, span.what.words ?? ""]
        }
        return (lines + ["</body>", "</html>", ""]).joined(separator: "\n")
    }

    /// A table with a heading; empty if it has no rows.
    private func table<Row>(_ heading: String, _ rows: [Row], _ cells: (Row) -> [String]) -> [String] {
        guard !rows.isEmpty else { return [] }
        let body = rows.prefix(Self.maximumRows).map { row in
            "<tr>" + cells(row).map { "<td>\(MarkupText.escaped($0))</td>" }.joined() + "</tr>"
        }
        return ["<h2>\(heading)</h2>", "<table>"] + body + ["</table>"]
    }

    private static let maximumRows = 500

    private static let style = """
        body { font: 15px/1.45 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem;
          color: #111; background: #fff; }
        .passed, .failed { display: inline-block; padding: 0.1rem 0.7rem; border: 2px solid; font-weight: bold; }
        .passed { color: #155724; }
        .failed { color: #8b1a1a; }
        table { border-collapse: collapse; }
        th, td { text-align: left; padding: 0.15rem 1rem 0.15rem 0; border-bottom: 1px solid #ccc; font-weight: normal;
          vertical-align: top; }
        .small { font-size: 0.85rem; color: #444; }
        svg { width: 100%; height: auto; }
        svg text { font: 12px system-ui, sans-serif; fill: #111; }
        @media print { body { margin: 0; max-width: none; font-size: 11pt; } svg, tr, li { break-inside: avoid; } }
        """

    /// Reports as JUnit XML for build services: a suite with a test case for each.
    public static func junit(_ reports: [LabReport]) -> String {
        let failed = reports.count { !$0.verdict.isPassed }
        let time = reports.reduce(LabTime.zero) { $0 + $1.timeline.end }
        var lines = [
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>",
            "<testsuites tests=\"\(reports.count)\" failures=\"\(failed)\">",
            "<testsuite name=\"parley lab\" tests=\"\(reports.count)\" failures=\"\(failed)\" errors=\"0\" skipped=\"0\" "
                + "time=\"\(time.fixed(digits: 3))\">",
        ]
        for report in reports {
            let time = report.timeline.end.fixed(digits: 3)
            lines.append(
                "<testcase classname=\"parley.lab\" name=\"\(MarkupText.escaped(report.title))\" time=\"\(time)\">")
            let findings = report.verdict.findings
            if let first = findings.first {
                let words = findings.map { MarkupText.escaped($0.words) }
                lines.append(
                    "<failure type=\"\(first.kind)\" message=\"\(words[0])\">\(words.joined(separator: "\n"))</failure>"
                )
            }
            let output = [report.circumstances] + report.figures.rows.map { "\($0.words): \($0.value)" }
            let escaped = output.map(MarkupText.escaped).joined(separator: "\n")
            lines += ["<system-out>\(escaped)</system-out>", "</testcase>"]
        }
        return (lines + ["</testsuite>", "</testsuites>", ""]).joined(separator: "\n")
    }
}

enum MarkupText {
    /// Escapes a text for use between tags and in quotes.
    static func escaped(_ text: String) -> String {
        var escaped = ""
        for character in plain(text).unicodeScalars {
            switch character {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            default: escaped.unicodeScalars.append(character)
            }
        }
        return escaped
    }

    /// Replaces characters that move a cursor, reorder text, or are invalid in HTML or XML: names and reasons come from
    /// others.
    static func plain(_ text: String) -> String {
        var plain = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0..<0x20, 0x7F...0x9F, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFFFE, 0xFFFF:
                plain.append("\u{FFFD}")
            default: plain.append(scalar)
            }
        }
        return String(plain)
    }
}
