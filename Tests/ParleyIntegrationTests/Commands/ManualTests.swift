import Foundation
import TestSupport
import Testing

@Suite("Commands: manual pages and completions", .realProcesses)
struct ManualTests {
    private static let hasPython = Probe.output("python3", "--version") != nil

    @Test(
        "Each group of commands has a page with all commands and options, and each shell a completion",
        .enabled(if: hasPython, "there is no python3"))
    func pages() async throws {
        var package = URL(filePath: #filePath)
        for _ in 0..<4 { package.deleteLastPathComponent() }
        let folder = try TemporaryDirectory("manual")
        let written = try await ChildProcess.run(
            package.appending(path: "Scripts/manual").path, [try BuiltProduct.url("parley").path, folder.path])
        #expect(written.exitCode == 0, "\(written)")
        func text(_ path: String) throws -> String { try String(contentsOfFile: folder.path(path), encoding: .utf8) }

        let commands = try text("share/man/man1/parley.1")
        for word in ["parley send", "parley tail", "\\-\\-timeout", "EXIT STATUS", "parley\\-network\\fR(1)"] {
            #expect(commands.contains(word), "\(word)")
        }
        let network = try text("share/man/man1/parley-network.1")
        for word in ["parley network user add", "parley network key revoke", "\\-\\-tls\\-cert"] {
            #expect(network.contains(word), "\(word)")
        }
        #expect(!network.contains("network host"))
        for path in ["bash-completion/completions/parley", "zsh/site-functions/_parley"] {
            #expect(try text("share/\(path)").contains("network"), "\(path)")
        }
        #expect(try text("share/fish/vendor_completions.d/parley.fish").contains("network"))
    }
}
