#if os(Linux)
    import Foundation
    import TestSupport
    import Testing

    /// A process for a test around which the system is to be another one.
    enum OwnProcess {
        /// Runs one test of these, which has to pass.
        ///
        /// - Parameter words: the program that makes the system another one, and what it is told.
        static func run(_ test: String, under words: [String] = [], environment: [String: String]) async throws {
            let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            let command = words + [program, "--testing-library", "swift-testing", "--filter", test]
            let result = try await ChildProcess.run(
                command[0], Array(command.dropFirst()), environment: environment, deadline: .seconds(120))
            #expect(
                result.status.isSuccess && (result.output + result.diagnostics).contains("with 1 test in"), "\(result)")
        }
    }
#endif
