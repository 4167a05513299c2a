import Platform
import RelayNetwork

/// Measures the chat's screen without a terminal: how soon a pressed key is in the frame, while a conversation that has
/// received `n` (100000) messages receives none, 100 and 5,000 a second, and 20,000 over four topics, with `keys` (500)
/// under each load; and how many messages a second the screen's thread handles. For comparison: the least that any such
/// program does, which is to fill and compare a frame's cells, and to keep messages in an array and a dictionary.
///
/// The program itself measures, since only it has its screen; this starts it.
enum ScreenScenario {
    /// Returns nothing if there is no `parley` beside this program.
    static func run(_ words: Words) async throws -> [Measurement] {
        guard let parley = ThisProgram.parley(for: "screen") else { return [] }
        let folder = try TemporaryFolder.make("bench")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let arguments = ["--messages", "\(words.number("n", 100_000))", "--keys", "\(words.number("keys", 500))"]
        let process = try await ServerProcess.start(
            [parley, "measure-screen"] + arguments, environment: ["LANG": "C.UTF-8"], log: LogFile("\(folder)/figures"))
        let status = await process.end()
        let data = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/figures"))
        let printed = String(decoding: data, as: UTF8.self)
        guard status == 0 else { throw BenchFailure("parley measure-screen failed: \(printed)") }
        var result = Measurement("screen")
        for line in printed.split(separator: "\n") {
            let parts = line.split(separator: "=")
            guard parts.count == 2, let value = Double(parts[1]) else {
                throw BenchFailure("parley measured “\(line)”")
            }
            result.add(String(parts[0]), value)
        }
        return [result]
    }
}
