import Foundation
import TestSupport
import Testing

@testable import RelayNetwork

@Suite("Running a command line for its output", .realProcesses)
struct ShellCommandTests {
    private func run(_ line: String, limit: Duration = .seconds(60)) async throws -> ShellCommand.Output {
        try await ShellCommand(line, environment: ["PATH": "/usr/bin:/bin", "WORD": "value"], limit: limit).run()
    }

    /// The process whose id a command wrote into a file.
    private func process(in file: String) async throws -> Int32 {
        var id: Int32?
        try await eventually("the command to run", deadline: .seconds(60)) {
            let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
            id = text.hasSuffix("\n") ? Int32(text.dropLast()) : nil
            return id != nil
        }
        return try #require(id)
    }

    @Test("Output, the last complaint and the environment come through; there is no input and no terminal")
    func output() async throws {
        let output = try await run("echo first >&2; echo \"$WORD\"; cat; echo last >&2; echo >&2")
        #expect(output == .init(text: "value\n", lastComplaint: "last"))
        #expect(try await run("true") == .init(text: "", lastComplaint: nil))
        let outcome = try await run("if (: </dev/tty) 2>/dev/null; then echo terminal; else echo none; fi")
        #expect(outcome.text == "none\n")
    }

    @Test("It has the variables that it is given and no others, and no descriptor of this process")
    func inheritance() async throws {
        let names = try await run("env | cut -d= -f1").text.split(separator: "\n").map(String.init)
        let namesOfShells: Set<String> = ["PWD", "OLDPWD", "SHLVL", "_"]
        #expect(Set(names).subtracting(namesOfShells) == ["PATH", "WORD"])
        // A name that no shell has as a variable does not keep it from running.
        let odd = ShellCommand("echo fine", environment: ["PATH": "/usr/bin:/bin", "1ST": "x", "": "y"])
        #expect(try await odd.run().text == "fine\n")
        let descriptor = open("/dev/null", O_RDONLY)
        defer { close(descriptor) }
        try #require(descriptor > 2)
        let line = "for i in 1 3 \(descriptor); do if [ -e /dev/fd/$i ]; then echo open; else echo closed; fi; done"
        #expect(try await run(line).text == "open\nclosed\nclosed\n")
    }

    @Test("A failure has its status, a signal its number, and neither has the output")
    func failures() async {
        await #expect(throws: ShellCommandError.failed(3, "no network")) {
            try await run("echo SECRET; echo no network >&2; exit 3")
        }
        await #expect(throws: ShellCommandError.failed(127, nil)) { try await run("exec 2>/dev/null; no-such-program") }
        await #expect(throws: ShellCommandError.signalled(9, nil)) { try await run("kill -9 $$") }
        await #expect(throws: ShellCommandError.failed(5, nil)) { try await run("exec >&- 2>&-; sleep 1; exit 5") }
    }

    @Test("What takes too long is ended, with everything that it has started")
    func timeOut() async throws {
        let folder = try TemporaryDirectory("shell")
        let file = folder.path("id")
        await #expect(throws: ShellCommandError.timedOut(.seconds(10))) {
            try await run("sleep 600 & echo $! >'\(file)'; wait", limit: .seconds(10))
        }
        let inner = try await process(in: file)
        try await eventually("the end of the inner process", deadline: .seconds(60)) {
            !PrivateNetworkFixture.isRunning(inner)
        }
    }

    @Test("Cancelling ends it at once, and leaves no process")
    func cancellation() async throws {
        let folder = try TemporaryDirectory("shell")
        let file = folder.path("id")
        let task = Task { try await run("trap '' TERM HUP INT; echo $$ >'\(file)'; sleep 600; sleep 600") }
        let id = try await process(in: file)
        task.cancel()
        await #expect(throws: ShellCommandError.cancelled) { try await task.value }
        #expect(kill(id, 0) != 0, "process \(id) is neither running nor waiting to be reaped")
    }

    @Test("Endless output ends it, endless complaints are bounded, and a process left behind is not waited for")
    func bounds() async throws {
        await #expect(throws: ShellCommandError.tooMuchOutput) { try await run("yes") }
        let output = try await run("yes complaint 2>/dev/null | head -c 1000000 >&2; echo token")
        #expect(output.text == "token\n" && output.lastComplaint?.isEmpty == false)
        let left = try await run("sleep 600 & echo token")
        #expect(left.text == "token\n")
    }

    #if os(Linux)
        @Test("Nor is a process waited for that has left the group and holds the output")
        func escape() async throws {
            let folder = try TemporaryDirectory("shell")
            let file = folder.path("id")
            let escaped = "setsid sh -c 'echo $$ >\"$0\"; exec sleep 120' '\(file)' &"
            let output = try await run("\(escaped) until [ -s '\(file)' ]; do sleep 0.1; done; echo token")
            #expect(output.text == "token\n")
            let id = try await process(in: file)
            #expect(PrivateNetworkFixture.isRunning(id))
            kill(id, SIGKILL)
        }
    #endif
}
