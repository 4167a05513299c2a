import ArgumentParser

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check terminal, files, credentials and servers, and explain how to fix each.",
        discussion: "It starts no network. ✓ OK, ! warning, ✗ failure; the exit status is that of the first ✗.")

    @OptionGroup var connection: ConnectionOptions

    @Flag(help: "Print one JSON object for each check.")
    var json = false

    func run() async throws {
        var failed: CommandStatus?
        await Doctor(options: connection) { finding in
            if json { Output.json(finding.json) } else { Output.line(finding.line(isColored: Output.isColored)) }
            if failed == nil, case .failure(let status) = finding.outcome { failed = status }
        }.run()
        if let failed { throw ExitCode(of: failed) }
    }
}
