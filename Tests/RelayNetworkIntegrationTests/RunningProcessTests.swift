import Platform
import TestSupport
import Testing

@testable import RelayNetwork

@Suite("Looking at another process", .realProcesses)
struct RunningProcessTests {
    @Test("One that begins another program again and again runs at every look")
    func execs() async throws {
        let folder = try TemporaryDirectory("program")
        let program = try folder.write(#"exec /bin/sh "$0""#, to: "again")
        let process = try ChildProcess("/bin/sh", [program], environment: [:])
        defer { process.close() }
        var missed = 0
        for _ in 0..<20_000 where !RunningProcess.exists(process.processID) { missed += 1 }
        #expect(missed == 0)
    }

    @Test("One that has ended does not run, waited for or not")
    func ended() async throws {
        let output = open("/dev/null", O_WRONLY | O_CLOEXEC)
        defer { close(output) }
        let process = try ProcessStart.start(
            ["/bin/sh", "-c", "exit 0"], environment: [:], output: output, place: .child
        ).get()
        try await eventually("its end", deadline: .seconds(60)) { !RunningProcess.exists(process) }
        // Nobody else can have taken its number.
        #expect(waitpid(process, nil, 0) == process)
        #expect(!RunningProcess.exists(process))
        #expect(!RunningProcess.exists(0) && !RunningProcess.exists(-1))
    }
}
