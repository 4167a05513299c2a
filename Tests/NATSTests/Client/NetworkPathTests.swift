import NIOConcurrencyHelpers
import TestSupport
import Testing

@testable import NATS

@Suite("The way to the servers")
struct NetworkPathTests {
    typealias Interface = NetworkPath.Interface
    typealias Route = NetworkPath.Route

    private let remote = [ServerAddress(host: "broker.example")]
    private let local = [ServerAddress(host: "127.0.0.1")]
    private let loopback = Interface(name: "lo", isRunning: true, isLoopback: true, addresses: ["127.0.0.1", "::1"])
    private let ethernet = Interface(name: "eth0", isRunning: true, addresses: ["10.0.0.2", "fe80::2"])
    private let route = Route(interface: "eth0", destination: "default", gateway: "10.0.0.1")

    @Test(
        "servers on this machine need no route",
        arguments: [
            ("localhost", false), ("LocalHost", false), ("a.localhost", false), ("127.0.0.1", false),
            ("127.9.9.9", false), ("::1", false), ("::ffff:127.0.0.1", false), ("127.example", true), ("::2", true),
            ("10.0.0.1", true), ("::ffff:10.0.0.1", true), ("localhost.example", true), ("broker", true),
        ])
    func loopbackHosts(host: String, needsRoute: Bool) {
        #expect(NetworkPath.needsRoute([ServerAddress(host: host)]) == needsRoute)
        // One server elsewhere is enough.
        #expect(NetworkPath.needsRoute([ServerAddress(host: host), ServerAddress(host: "::1")]) == needsRoute)
        #expect(!NetworkPath.needsRoute([]))
    }

    @Test("a route beyond this machine makes it usable, for servers elsewhere")
    func usable() {
        let path = NetworkPath(interfaces: [loopback, ethernet], routes: [route])
        #expect(path.isUsable(for: remote) && path.isUsable(for: local) && path.isUsable(for: []))
        let alone = NetworkPath(interfaces: [loopback, ethernet], routes: [])
        #expect(!alone.isUsable(for: remote) && alone.isUsable(for: local))
        // A route stays in the list while its cable is out.
        var unplugged = ethernet
        unplugged.isRunning = false
        #expect(!NetworkPath(interfaces: [loopback, unplugged], routes: [route]).isUsable(for: remote))
        #expect(NetworkPath(interfaces: [loopback], routes: [route]).isUsable(for: remote))
        let inner = Route(interface: "lo", destination: "127.0.0.0/8")
        #expect(!NetworkPath(interfaces: [loopback, ethernet], routes: [inner]).isUsable(for: remote))
        #expect(!NetworkPath(interfaces: [ethernet], routes: [route]).isUsable(for: local))
    }

    @Test("where the system lists no routes, an address that is more than link-local counts")
    func withoutRoutes() {
        #expect(NetworkPath(interfaces: [loopback, ethernet], routes: nil).isUsable(for: remote))
        let link = Interface(name: "eth0", isRunning: true, addresses: ["fe80::2", "169.254.7.7", "FEB0::1"])
        #expect(!NetworkPath(interfaces: [loopback, link], routes: nil).isUsable(for: remote))
        #expect(!NetworkPath(interfaces: [loopback], routes: nil).isUsable(for: remote))
        var off = ethernet
        off.isRunning = false
        #expect(!NetworkPath(interfaces: [loopback, off], routes: nil).isUsable(for: remote))
    }

    @Test("B19 losing, regaining and changing the network are reported, and nothing else")
    func changes() {
        let none = NetworkPath(interfaces: [loopback], routes: [])
        let home = NetworkPath(interfaces: [loopback, ethernet], routes: [route])
        let wireless = Interface(name: "wlan0", isRunning: true, addresses: ["192.168.1.5"])
        let away = NetworkPath(
            interfaces: [loopback, wireless], routes: [Route(interface: "wlan0", destination: "default", gateway: "x")])
        #expect(home.change(since: none, for: remote) == .available)
        #expect(none.change(since: home, for: remote) == .unavailable)
        #expect(away.change(since: home, for: remote) == .changed)
        #expect(home.change(since: home, for: remote) == nil && none.change(since: none, for: remote) == nil)
        // The same network with another address, and another router.
        var moved = ethernet
        moved.addresses = ["10.0.0.9"]
        #expect(NetworkPath(interfaces: [moved], routes: [route]).change(since: home, for: remote) == .changed)
        var other = route
        other.gateway = "10.0.0.254"
        #expect(
            NetworkPath(interfaces: [loopback, ethernet], routes: [other]).change(since: home, for: remote) == .changed)
        // What is of no use to a client is of no interest either.
        var noise = home
        noise.interfaces["docker0"] = Interface(name: "docker0", isRunning: false, addresses: ["172.17.0.1"])
        noise.interfaces["eth0"]?.addresses.insert("fe80::3")
        #expect(noise.change(since: home, for: remote) == nil)
        for path in [none, away, noise] { #expect(path.change(since: home, for: local) == nil) }
        #expect(NetworkPath(interfaces: [], routes: []).change(since: home, for: local) == .unavailable)
    }

    @Test("Linux's list of IPv4 routes")
    func version4() {
        let header = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT   \n"
        let text =
            header + "eth0\t00000000\t0100000A\t0003\t0\t0\t100\t00000000\t0\t0\t0   \n"
            + "eth0\t0000000A\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0   \n"
            + "eth0\t0000FEA9\t00000000\t0001\t0\t0\t1000\t0000FFFF\t0\t0\t0\n"
            + "eth1\t00000000\t0100000A\t0002\t0\t0\t100\t00000000\t0\t0\t0\n"
            + "*\t00000A0A\t00000000\t0201\t0\t0\t100\t00FFFFFF\t0\t0\t0\n" + "eth0\tgarbage\n\nno more"
        #expect(
            RouteTable.version4(text) == [
                Route(interface: "eth0", destination: "00000000/00000000", gateway: "0100000A"),
                Route(interface: "eth0", destination: "0000000A/00FFFFFF", gateway: "00000000"),
            ])
        #expect(RouteTable.version4(header).isEmpty && RouteTable.version4("").isEmpty)
    }

    @Test("Linux's list of IPv6 routes")
    func version6() {
        let zero = String(repeating: "0", count: 32)
        func line(_ destination: String, _ prefix: String, _ hop: String, _ flags: String, _ interface: String)
            -> String
        {
            "\(destination) \(prefix) \(zero) 00 \(hop) 00000400 00000001 00000000 \(flags) \(interface.padded)\n"
        }
        let router = "fe80" + String(repeating: "0", count: 27) + "1"
        let subnet = "20010db8" + String(repeating: "0", count: 24)
        let text =
            line(subnet, "40", zero, "00000001", "eth0") + line(zero, "00", router, "00450003", "eth0")
            + line("fe80" + String(repeating: "0", count: 28), "40", zero, "00000001", "eth0")
            + line("ff00" + String(repeating: "0", count: 28), "08", zero, "00000001", "eth0")
            + line(zero, "00", zero, "00200200", "lo") + line(subnet, "80", zero, "80200001", "lo")
            + line(subnet, "80", zero, "01000001", "eth0") + "nonsense\n"
        #expect(
            RouteTable.version6(text) == [
                Route(interface: "eth0", destination: subnet + "/40", gateway: zero),
                Route(interface: "eth0", destination: zero + "/00", gateway: router),
            ])
        #expect(RouteTable.version6("").isEmpty)
    }

    @Test("counts the network as available where the system does not let it look")
    func sandboxed() async {
        let refused = NetworkPathMonitor(
            servers: remote, open: { -1 }, snapshot: { NetworkPath(interfaces: [], routes: []) })
        #expect(refused.descriptor == nil)
        var iterator = refused.changes.makeAsyncIterator()
        #expect(await iterator.next() == .available)
        let unusable = NetworkPath(interfaces: [], routes: [])
        #expect(unusable.change(since: nil, for: remote) == .unavailable)
        let lo = NetworkPath.Interface(name: "lo", isRunning: true, isLoopback: true)
        #expect(NetworkPath(interfaces: [lo], routes: []).change(since: nil, for: []) == nil)
    }

    @Test("B19 a network that is watched again tells how things stand, which may have changed in between")
    func watchedAgain() async throws {
        let told = NIOLockedValueBox<[NetworkPath.Change]>([])
        var network = WatchedNetwork()
        for _ in 0..<2 {
            network.rest()
            network.follow(local) { change, _ in told.withLockedValue { $0.append(change) } }
        }
        try await eventually("the news") { told.withLockedValue { $0 } == [.available] }
        network.rest()
    }
}

extension String {
    /// The system pads the names of interfaces on the left.
    fileprivate var padded: String { String(repeating: " ", count: max(0, 8 - count)) + self }
}
