import TestSupport

/// The machines of several people, each with folders of its own.
protocol Machines: Sendable {
    /// Holds all of them.
    var folder: TemporaryDirectory { get }
    /// What is set on each of them.
    var environment: [String: String] { get }
}

extension Machines {
    var environment: [String: String] { [:] }

    /// The environment of somebody's own machine.
    func machine(_ name: String) -> [String: String] {
        [
            "XDG_DATA_HOME": folder.path("\(name)/data"), "XDG_CONFIG_HOME": folder.path("\(name)/config"),
            "XDG_STATE_HOME": folder.path("\(name)/state"), "TZ": "UTC", "SWIFT_BACKTRACE": "enable=no",
        ].merging(environment) { $1 }
    }

    /// Runs a command of somebody's to its end.
    func parley(_ name: String, _ arguments: String..., input: String = "") async throws -> ChildProcess.Result {
        try await parley(name, arguments, input: input)
    }

    /// Runs a command of somebody's to its end.
    func parley(_ name: String, _ arguments: [String], input: String = "") async throws -> ChildProcess.Result {
        try await ChildProcess.run(
            try BuiltProduct.url("parley").path, arguments, input: input, environment: machine(name))
    }

    /// The JSON objects that a command of somebody's prints; it has to succeed.
    func objects(
        _ name: String, _ arguments: String..., fileID: String = #fileID, line: Int = #line
    ) async throws -> [JSONLine] {
        let result = try await parley(name, arguments)
        guard result.status.isSuccess else {
            throw TestFailure("parley \(arguments): \(result)", fileID: fileID, line: line)
        }
        return try result.lines.map { try JSONLine($0) }
    }
}
