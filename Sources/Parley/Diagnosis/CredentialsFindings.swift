import Relay

/// The findings about credentials and the clock. They never contain a secret.
enum CredentialsFindings {
    static func read(_ times: TokenTimes?, place: String, user: String?, now: Timestamp) -> Finding {
        let name = "credentials"
        let words = place + (user.map { ", user \($0)" } ?? "")
        guard let times else { return Finding(name, .ok, words) }
        let seconds = now.milliseconds / 1_000
        if let begin = times.notBefore, begin > seconds {
            return Finding(
                name, .refused, "\(words); they begin in \(length(begin - seconds))",
                fix: "check this machine's clock, or wait")
        }
        guard let end = times.expires, end > 0 else { return Finding(name, .ok, "\(words); without end") }
        if end <= seconds {
            return Finding(
                name, .refused, "\(words); expired \(length(seconds - end)) ago", fix: "ask for new ones")
        }
        let detail = "\(words); they expire in \(length(end - seconds))"
        guard end - seconds < 3 * 86_400 else { return Finding(name, .ok, detail) }
        return Finding(name, .warning, detail, fix: "ask for new ones soon")
    }

    static func refused(_ detail: String, _ source: CredentialsSource) -> Finding {
        if case .file(let path) = source, detail.contains("chmod 600") {
            return Finding("credentials", .misconfigured, "others can read \(path)", fix: "chmod 600 \(path)")
        }
        let remedy =
            switch source {
            case .apiKey, .token: "correct or unset \(source)"
            case .none, .file, .command: "name a complete credentials file with --creds, as it was issued"
            }
        return Finding("credentials", .misconfigured, detail, fix: remedy)
    }

    static func clock(now: Timestamp, issued: Int64?) -> Finding {
        let remedy = "set the clock, or turn on time synchronisation"
        // From 2025, since this program is not older, until 2100.
        guard now.milliseconds > 1_735_689_600_000, now.milliseconds < 4_102_444_800_000 else {
            return Finding("clock", .misconfigured, "\(now.iso8601) cannot be", fix: remedy)
        }
        let seconds = now.milliseconds / 1_000
        guard let issued, issued > seconds + 300 else { return Finding("clock", .ok, now.iso8601) }
        let words = "\(now.iso8601), which is \(length(issued - seconds)) before the credentials were issued"
        return Finding("clock", .warning, words, fix: remedy)
    }

    private static func length(_ seconds: Int64) -> String {
        seconds >= 2 * 86_400 ? Wording.count(Int(seconds / 86_400), "day") : Wording.length(.seconds(seconds))
    }
}
