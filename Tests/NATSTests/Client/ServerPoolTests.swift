import NATS
import Testing

@Suite struct ServerPoolTests {
    private func servers(_ names: String...) -> [ServerAddress] { names.map { ServerAddress(host: $0) } }
    private func names(_ pool: ServerPool) -> [String] { pool.order.map(\.host) }

    @Test("Servers are tried in turn, and one that fails goes last")
    func roundRobin() {
        var pool = ServerPool(servers("a", "b", "c"))
        #expect(pool.next?.host == "a")
        pool.failed(ServerAddress(host: "a"))
        #expect(names(pool) == ["b", "c", "a"])
        pool.failed(ServerAddress(host: "b"))
        pool.connected(to: ServerAddress(host: "a"))
        #expect(names(pool) == ["a", "c", "b"])
        pool.failed(ServerAddress(host: "unknown"))
        #expect(names(pool) == ["a", "c", "b"])
        #expect(ServerPool().next == nil)
    }

    @Test("What a server tells of the others comes behind the configured ones, and an empty list changes nothing")
    func advertised() {
        var random = SeededGenerator(seed: 3)
        var pool = ServerPool(servers("a"))
        pool.advertise(servers("a", "b", "c", "b"), using: &random)
        #expect(names(pool).first == "a" && Set(names(pool)) == ["a", "b", "c"] && names(pool).count == 3)
        pool.advertise([], using: &random)
        #expect(Set(names(pool)) == ["a", "b", "c"])
        pool.advertise(servers("c", "d"), using: &random)
        #expect(Set(names(pool)) == ["a", "c", "d"], "A configured server stays, even if a list leaves it out")
    }

    @Test("The server in use stays known although a list leaves it out, until it fails")
    func current() {
        var random = SeededGenerator(seed: 3)
        var pool = ServerPool(servers("a"))
        pool.advertise(servers("b"), using: &random)
        pool.connected(to: ServerAddress(host: "b"))
        pool.advertise(servers("c"), using: &random)
        #expect(names(pool) == ["b", "a", "c"])
        pool.failed(ServerAddress(host: "b"))
        #expect(names(pool) == ["a", "c"])
    }

    @Test("A network that moved to another port forgets the old one")
    func reconfigured() {
        var pool = ServerPool(servers("a", "b"))
        pool.failed(ServerAddress(host: "a"))
        pool.configure(servers("a", "b"))
        #expect(names(pool) == ["b", "a"], "The same list says nothing new")
        pool.configure(servers("c", "b"))
        #expect(names(pool) == ["c", "b"])
    }
}
