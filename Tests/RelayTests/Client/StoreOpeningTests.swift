import NIOConcurrencyHelpers
import TestSupport
import Testing

@testable import Relay

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

@Suite("Opening the local store on the way to a server", .realProcesses)
struct StoreOpeningTests {
    @Test("B9 the store opens strictly before the network is touched, and reports how")
    func order() async throws {
        let network = try MemoryNetwork()
        let folder = try TemporaryDirectory()
        let path = folder.url.path + "/alice.sqlite"
        try Data("not a database, whatever its name says, and longer than a header".utf8)
            .write(to: URL(fileURLWithPath: path))
        let asked = NIOLockedValueBox<[String]>([])
        var configuration = network.configuration()
        let servers = configuration.servers
        configuration.store = .file(path)
        // The servers are asked for right before the dial.
        configuration.servers = .discovered { () throws(RelayError) in
            asked.withLockedValue {
                let names = try? FileManager.default.contentsOfDirectory(atPath: folder.url.path)
                $0.append(names?.contains { $0.contains(".damaged-") } == true ? "open" : "not")
            }
            guard case .fixed(let addresses) = servers else { return [] }
            return addresses
        }
        let client = try await network.connected(configuration)
        let answers = asked.withLockedValue(\.self)
        #expect(!answers.isEmpty && answers.allSatisfy { $0 == "open" }, "\(answers)")
        var openings = client.storeOpenings.makeAsyncIterator()
        let opening = try #require(await openings.next())
        #expect(opening.isRecreated && opening.error == nil)
        #expect(opening.rescue?.path.contains(".damaged-") == true)
        await client.close()
    }

    @Test("B9 a store that fails does not prevent a connection, and says so")
    func failing() async throws {
        let network = try MemoryNetwork()
        let folder = try TemporaryDirectory()
        var configuration = network.configuration()
        configuration.store = .file(folder.url.path)
        let client = try await network.connected(configuration)
        var openings = client.storeOpenings.makeAsyncIterator()
        let opening = try #require(await openings.next())
        let error = try #require(opening.error)
        #expect(RongCloudCode(error).rawValue == 33_002)
        #expect(error.words.contains(folder.url.path))
        await client.close()
    }
}
