import CChildProcess
import Foundation
import Platform

/// What to start: a program, its arguments and its surroundings.
struct Launch {
    var program: String
    var arguments: [String]
    var environment: [String: String]
    var workingDirectory: URL?

    /// The variables that a program under test starts with: enough to run, none of the developer's settings.
    static var plainEnvironment: [String: String] {
        let own = ProcessInfo.processInfo.environment
        var chosen = ["LANG": "C.UTF-8"]
        for name in ["PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SSL_CERT_FILE"] {
            chosen[name] = own[name]
        }
        return chosen
    }

    /// Starts the program and returns what is needed to speak with it.
    func spawn(kind: Int32, streams: [Int32] = [-1, -1, -1], rows: Int = 0, columns: Int = 0) throws -> child_handle {
        try RealProcesses.checkTurn(program)
        let path = try Self.path(of: program)
        var argumentPointers: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
        var environmentPointers: [UnsafeMutablePointer<CChar>?] =
            environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        let directory = workingDirectory.map { strdup($0.path) } ?? nil
        let pathPointer = strdup(path)
        let supervisor = strdup(try BuiltProduct.url("child-supervisor").path)
        defer {
            let others = [directory, pathPointer, supervisor]
            for pointer in argumentPointers + environmentPointers + others { free(pointer) }
        }
        var handle = child_handle()
        let problem = argumentPointers.withUnsafeMutableBufferPointer { arguments in
            environmentPointers.withUnsafeMutableBufferPointer { environment in
                var request = child_request()
                request.supervisor = UnsafePointer(supervisor)
                request.path = UnsafePointer(pathPointer)
                request.arguments = UnsafePointer(arguments.baseAddress)
                request.environment = UnsafePointer(environment.baseAddress)
                request.directory = UnsafePointer(directory)
                request.kind = kind
                request.streams = (streams[0], streams[1], streams[2])
                request.rows = UInt16(rows)
                request.columns = UInt16(columns)
                return child_spawn(&request, &handle)
            }
        }
        guard problem == 0 else { throw TestFailure("cannot start \(path): \(String(cString: strerror(problem)))") }
        return handle
    }

    /// The absolute path of a program named by a path or by a name to look for in PATH.
    static func path(of program: String) throws -> String {
        if program.contains("/") { return URL(fileURLWithPath: program).path }
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")
        for folder in folders where FileManager.default.isExecutableFile(atPath: "\(folder)/\(program)") {
            return "\(folder)/\(program)"
        }
        throw TestFailure("there is no program named \(program) in PATH")
    }
}
