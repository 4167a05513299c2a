extension LabReport {
    /// The report as one page of HTML that needs nothing else: no script, no other file, readable in print and in grey.
    public var page: String {
        let drawing = LabDrawing(run)
        var lines = [
            "<!DOCTYPE html>", "<html lang=\"en\">", "<head>", "<meta charset=\"utf-8\">",
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">",
            "<title>\(MarkupText.escaped(title)): \(outcome)</title>", "<style>", Self.style, "</style>", "</head>",
            "<body>", "<h1>\(MarkupText.escaped(title))</h1>",
            "<p class=\"\(outcome)\" data-verdict=\"\(outcome)\">\(outcome)</p>",
            "<p class=\"small\">\(MarkupText.escaped(circumstances))</p>",
        ]
        if !verdict.findings.isEmpty {
            lines.append("<h2>What went wrong</h2>")
            lines.append("<ul>")
            lines += verdict.findings.map {
                "<li data-finding=\"\($0.kind)\">\(MarkupText.escaped($0.words))</li>"
            }
            lines.append("</ul>")
        }
        lines += ["<h2>Timeline</h2>", drawing.svg, "<h2>Ledger</h2>", "<table>"]
        lines += rows.map { name, words, value in
            "<tr><th scope=\"row\">\(words)</th><td data-figure=\"\(name)\">\(value)</td></tr>"
        }
        lines.append("</table>")
        if !run.expectations.isEmpty {
            lines += ["<h2>Expectations</h2>", "<table>"]
            lines += run.expectations.map { result in
                let instead = result.instead.map { "; there was \($0)" } ?? ""
                return "<tr><th scope=\"row\">\(MarkupText.escaped(result.words))</th>"
                    + "<td>\(result.isMet ? "met" : "not met")\(MarkupText.escaped(instead))</td>"
                    + "<td>\(result.took)</td></tr>"
            }
            lines.append("</table>")
        }
        lines += ["<h2>Connection</h2>", "<table>"]
        lines += run.timeline.states.prefix(Self.maximumRows).map { stretch in
            "<tr><td>\(stretch.from)</td><th scope=\"row\">\(MarkupText.escaped(stretch.status.name))</th>"
                + "<td>\(MarkupText.escaped(stretch.status.words ?? ""))</td></tr>"
        }
        lines.append("</table>")
        lines += ["</body>", "</html>", ""]
        return lines.joined(separator: "\n")
    }

    /// Most rows of the table of states.
    private static let maximumRows = 500

    private static let style = """
        body { font: 15px/1.45 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem;
          color: #111; background: #fff; }
        h1 { font-size: 1.4rem; margin-bottom: 0.2rem; }
        h2 { font-size: 1.1rem; margin-top: 1.6rem; }
        .small { color: #444; }
        .passed, .failed { display: inline-block; padding: 0.1rem 0.7rem; border: 2px solid; font-weight: bold; }
        .passed { color: #155724; }
        .failed { color: #8b1a1a; }
        table { border-collapse: collapse; }
        th, td { text-align: left; padding: 0.15rem 1rem 0.15rem 0; border-bottom: 1px solid #ccc; font-weight: normal;
          vertical-align: top; }
        td { font-variant-numeric: tabular-nums; }
        svg { width: 100%; height: auto; }
        svg text { font: 12px system-ui, sans-serif; fill: #111; }
        @media print { body { margin: 0; max-width: none; font-size: 11pt; } svg, tr, li { break-inside: avoid; } }
        """
}
