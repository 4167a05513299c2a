import Platform
import TestSupport
import Testing

/// The benchmark of the screen, with few messages and keys: that it measures, not what.
@Suite("Benchmarks: the screen", .realProcesses)
struct ScreenBenchTests {
    @Test("It types under each load, has the loop take the messages, and compares both with the least possible")
    func measures() async throws {
        let run = try await ChildProcess.run(
            BuiltProduct.url("parley-bench").path, ["screen", "n=1000", "keys=5"], deadline: .seconds(280))
        #expect(run.status.isSuccess, "\(run.diagnostics)")
        let object = try JSONDecoder().decode([String: Figure].self, from: Data(run.output.utf8))
        #expect(object["scenario"] == .text("screen") && object["n"] == .number(1_000))
        for load in ["idle", "100", "5000", "20000"] {
            for figure in ["p50_us", "p99_us", "of_bare_frame"] { #expect(positive(object["key_\(load)_\(figure)"])) }
        }
        for figure in ["bare_frame_us", "msgs_s", "bare_msgs_s"] { #expect(positive(object[figure])) }
    }

    private enum Figure: Decodable, Equatable {
        case text(String)
        case number(Double)

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let number = try? container.decode(Double.self) {
                self = .number(number)
            } else {
                self = .text(try container.decode(String.self))
            }
        }
    }

    private func positive(_ figure: Figure?) -> Bool {
        if case .number(let number)? = figure { number > 0 } else { false }
    }
}
