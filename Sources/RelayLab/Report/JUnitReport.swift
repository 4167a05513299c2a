/// Runs as JUnit XML, which services that build and test programs read: a suite with a test case for each run.
public struct JUnitReport: Hashable, Sendable {
    /// The reports, in order.
    public var reports: [LabReport]

    /// A file of these reports.
    public init(_ reports: [LabReport]) { self.reports = reports }

    /// The XML.
    public var text: String {
        let failed = reports.count { !$0.verdict.isPassed }
        let time = reports.reduce(LabTime.zero) { $0 + $1.run.timeline.end }
        var lines = [
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>",
            "<testsuites tests=\"\(reports.count)\" failures=\"\(failed)\">",
            "<testsuite name=\"parley lab\" tests=\"\(reports.count)\" failures=\"\(failed)\" errors=\"0\" skipped=\"0\" "
                + "time=\"\(time.fixed(digits: 3))\">",
        ]
        for report in reports {
            let name = MarkupText.escaped(report.title)
            let opening =
                "<testcase classname=\"parley.lab\" name=\"\(name)\" "
                + "time=\"\(report.run.timeline.end.fixed(digits: 3))\""
            lines.append(opening + ">")
            if let first = report.verdict.findings.first {
                let words = report.verdict.findings.map { MarkupText.escaped($0.words) }.joined(separator: "\n")
                lines.append(
                    "<failure type=\"\(first.kind)\" message=\"\(MarkupText.escaped(first.words))\">\(words)</failure>")
            }
            let figures = report.rows.map { "\($0.words): \($0.value)" }
            let output = ([report.circumstances] + figures).map(MarkupText.escaped).joined(separator: "\n")
            lines.append("<system-out>\(output)</system-out>")
            lines.append("</testcase>")
        }
        lines += ["</testsuite>", "</testsuites>", ""]
        return lines.joined(separator: "\n")
    }
}
