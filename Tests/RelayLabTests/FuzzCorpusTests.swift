import Foundation
import FuzzTargets
import TestSupport
import Testing

@Suite("Fuzzing: kept inputs", .processorBound)
struct FuzzCorpusTests {
    @Test("Each reader of strangers' bytes bears what is kept for it", arguments: FuzzTarget.allCases)
    func kept(_ target: FuzzTarget) async throws {
        let package = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let inputs = try target.inputs(in: package)
        #expect(inputs.contains { $0.name.hasPrefix("Corpus/") })
        for input in inputs {
            for bytes in [input.bytes, Array(input.bytes.dropLast()), input.bytes + input.bytes] {
                await #expect(throws: Never.self, "\(input.name)") { try await target.read(bytes) }
            }
        }
    }
}
