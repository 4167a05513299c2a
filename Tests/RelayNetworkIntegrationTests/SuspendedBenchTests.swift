#if os(Linux)
    import TestSupport
    import Testing

    #if canImport(FoundationEssentials)
        import FoundationEssentials
    #else
        import Foundation
    #endif

    /// The benchmark of what a suspended client still does, for a shorter time. How often it wakes up is for a machine
    /// that does nothing else; that it is silent holds on every one.
    @Suite("Benchmarks: a suspended client", .realProcesses)
    struct SuspendedBenchTests {
        private struct Figures: Decodable {
            var scenario: String
            var seconds, bytes, bytesGoal, dials, dialsGoal, sockets, socketsGoal: Double
            var wakeupsMin, floorMin, aboveFloorMin, aboveFloorMinGoal, ticks, ticksGoal: Double
        }

        @Test("B21 Client and chat are silent while they are suspended, and the client comes back with what waited")
        func silent() async throws {
            let run = try await ChildProcess.run(
                BuiltProduct.url("parley-bench").path, ["suspended", "seconds=3", "settle=2"], deadline: .seconds(200))
            #expect(run.status.isSuccess, "\(run)")
            let decoder = JSONDecoder()
            decoder.keyDecodingStrategy = .convertFromSnakeCase
            let all = try run.lines.map { try decoder.decode(Figures.self, from: Data($0.utf8)) }
            #expect(all.map(\.scenario) == ["suspended", "suspended_chat"])
            for figures in all {
                #expect(figures.bytes == 0 && figures.dials == 0 && figures.sockets == 0, "\(figures)")
                #expect(
                    figures.seconds >= 3 && figures.wakeupsMin >= 0 && figures.floorMin > 0 && figures.ticks >= 0,
                    "\(figures)")
                #expect(figures.bytesGoal == 0 && figures.dialsGoal == 0 && figures.socketsGoal == 0)
                #expect(figures.aboveFloorMin >= 0 && figures.aboveFloorMinGoal == 1 && figures.ticksGoal == 0)
            }
        }
    }
#endif
