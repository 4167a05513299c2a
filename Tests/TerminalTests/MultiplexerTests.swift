import Platform
import TestSupport
import Testing

@testable import Terminal

@Suite("tmux and screen")
struct MultiplexerTests {
    private static func socket(_ environment: [String: String], there: Set<String>) -> String? {
        Multiplexer.socket(environment: { environment[$0] }, user: 1000) { there.contains($0) }
    }

    @Test("tmux names its socket in TMUX, before the server's process and the session")
    func tmux() {
        let path = "/tmp/tmux-1000/default"
        #expect(Self.socket(["TMUX": "\(path),4711,0"], there: [path]) == path)
        #expect(Self.socket(["TMUX": "/tmp/a,b/s,4711,12"], there: ["/tmp/a,b/s"]) == "/tmp/a,b/s")
        // A server on another machine, whose variables came along.
        #expect(Self.socket(["TMUX": "\(path),4711,0"], there: []) == nil)
        #expect(Self.socket(["TMUX": ""], there: [""]) == nil)
        #expect(Self.socket([:], there: [path]) == nil)
    }

    @Test("screen names its session in STY; the socket of that name is where screen keeps those")
    func screen() {
        let session = ["STY": "4711.pts-0.host", "USER": "alice", "HOME": "/home/alice"]
        for folder in ["/run/screen/S-alice", "/tmp/screens/S-alice", "/home/alice/.screen"] {
            let path = "\(folder)/4711.pts-0.host"
            #expect(Self.socket(session, there: [path]) == path)
        }
        let own = session.merging(["SCREENDIR": "/srv/screens"]) { $1 }
        #expect(Self.socket(own, there: ["/srv/screens/4711.pts-0.host"]) == "/srv/screens/4711.pts-0.host")
        #expect(Self.socket(session, there: []) == nil)
    }

    @Test("The socket's mode tells of a terminal that leaves or comes, and what was so from the start is no news")
    func gauge() {
        var attached = AttachmentGauge()
        let modes: [UInt32?] = [0o140700, 0o140700, nil, 0o140600, 0o140600, nil, 0o140711, 0o140600]
        let news = modes.map { attached.take(mode: $0, of: 1) }
        #expect(news == [nil, nil, nil, false, nil, nil, true, false])
        // Whoever is there although no terminal is attached has a way of their own.
        var detached = AttachmentGauge()
        let others: [UInt32] = [0o140600, 0o140600, 0o140700]
        let first = others.map { detached.take(mode: $0, of: 1) }
        #expect(first == [nil, nil, true])
    }

    @Test("A socket that is made anew lacks the right at first, which says nothing until it has had it")
    func anew() {
        var attached = AttachmentGauge()
        let looks: [(mode: UInt32?, socket: Int32)] = [
            (0o140700, 1), (nil, -1), (0o140600, 2), (0o140600, 2), (0o140700, 2), (0o140600, 2),
        ]
        let news = looks.map { attached.take(mode: $0.mode, of: $0.socket) }
        #expect(news == [nil, nil, nil, nil, nil, false])
        // Somebody who comes meanwhile is noticed.
        let more: [(mode: UInt32?, socket: Int32)] = [(0o140600, 3), (0o140700, 3), (0o140600, 3), (0o140700, 4)]
        let later = more.map { attached.take(mode: $0.mode, of: $0.socket) }
        #expect(later == [nil, true, false, true])
    }

    #if os(Linux)
        @Test("The kernel tells of each change, and of nothing else; also where the socket was made anew")
        func watch() throws {
            let folder = try TemporaryDirectory("multiplexer")
            let path = try folder.write("", to: "socket", permissions: 0o700)
            let watch = try #require(MultiplexerWatch(path))
            func isReadable() -> Bool {
                var item = pollfd(fd: watch.descriptor, events: Int16(POLLIN), revents: 0)
                return poll(&item, 1, 0) == 1
            }
            #expect(!isReadable())
            for (mode, isAttached) in [(mode_t(0o600), false), (0o700, true), (0o600, false)] {
                chmod(path, mode)
                #expect(isReadable())
                #expect(watch.take() == isAttached)
                #expect(!isReadable() && watch.take() == nil)
            }
            unlink(path)
            #expect(isReadable() && watch.take() == nil)
            // tmux makes it again when it is asked to; whoever looks then sees the new one.
            _ = try folder.write("", to: "socket", permissions: 0o600)
            #expect(watch.take() == nil)
            chmod(path, 0o700)
            #expect(isReadable() && watch.take() == true)
            // Whoever is attached stays so when it does.
            unlink(path)
            _ = try folder.write("", to: "socket", permissions: 0o600)
            #expect(isReadable() && watch.take() == nil)
            for (mode, isAttached) in [(mode_t(0o700), nil), (0o600, false)] as [(mode_t, Bool?)] {
                chmod(path, mode)
                #expect(isReadable() && watch.take() == isAttached)
            }
        }

        @Test("What is not there is not watched")
        func nothing() throws {
            let folder = try TemporaryDirectory("multiplexer")
            #expect(MultiplexerWatch(folder.path("socket")) == nil)
        }
    #endif
}
