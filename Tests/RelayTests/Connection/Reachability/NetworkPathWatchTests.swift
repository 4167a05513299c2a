import NATS
import Testing

@testable import Relay

@Suite("Telling of the network's changes")
struct NetworkPathWatchTests {
    private let remote = [ServerAddress(host: "broker.example")]

    @Test("counts the network as available where the system does not let it look")
    func sandboxed() async {
        let refused = NetworkPathMonitor(
            servers: remote, open: { -1 }, snapshot: { NetworkPath(interfaces: [], routes: []) })
        #expect(refused.descriptor == nil)
        var iterator = refused.changes.makeAsyncIterator()
        #expect(await iterator.next() == .available)
        let blind = NetworkPathWatch(servers: remote, first: nil)
        var blindIterator = blind.changes().makeAsyncIterator()
        #expect(await blindIterator.next() == .available)
        blind.update(nil)
        blind.update(NetworkPath(interfaces: [], routes: []))
        #expect(await blindIterator.next() == .unavailable)
    }

    @Test("a flood of changes is reported in order, and a slow reader is not waited for")
    func order() async {
        let lo = NetworkPath.Interface(name: "lo", isRunning: true, isLoopback: true)
        let watch = NetworkPathWatch(servers: [], first: NetworkPath(interfaces: [], routes: []))
        var iterator = watch.changes().makeAsyncIterator()
        for round in 0..<100 { watch.update(NetworkPath(interfaces: round % 2 == 0 ? [lo] : [], routes: [])) }
        watch.end()
        var told: [NetworkPath.Change] = []
        while let change = await iterator.next() { told.append(change) }
        #expect(told.count == 16 && told.last == .unavailable)
        for (first, second) in zip(told, told.dropFirst()) { #expect(first != second) }
        var late = watch.changes().makeAsyncIterator()
        #expect(await late.next() == .unavailable)
        #expect(await late.next() == nil)
    }
}
