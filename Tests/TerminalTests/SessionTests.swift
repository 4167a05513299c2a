import Platform
import Testing

@testable import Terminal

@Suite("The session without a terminal")
struct SessionTests {
    @Test("Each error says what to do, and shows no control character of a hostile TERM")
    func errors() {
        let errors: [TerminalError] = [
            .notATerminal, .unknownType("\u{1B}[2Jx"), .tooSimple("dumb"), .noDatabase, .alreadyOpen, .system(24),
        ]
        for error in errors {
            #expect(error.description.hasSuffix("."))
            #expect(!error.description.hasForbidden)
        }
    }

    @Test("B26 a terminal whose focus nobody watches is switched to no reports of it, nor from them")
    func focusReports() {
        for watches in [true, false] {
            var options = TerminalSession.Options()
            options.focus = watches
            let modes = Modes(options: options, type: "xterm-256color")
            #expect(String(decoding: modes.enter, as: UTF8.self).contains("[?1004h") == watches)
            #expect(String(decoding: modes.leave, as: UTF8.self).contains("[?1004l") == watches)
        }
    }

    @Test("Poll's time-outs are rounded up and never overflow")
    func timeouts() {
        #expect(Duration.zero.pollMilliseconds == 0)
        #expect(Duration.milliseconds(-5).pollMilliseconds == 0)
        #expect(Duration.microseconds(1).pollMilliseconds == 1)
        #expect(Duration.milliseconds(40).pollMilliseconds == 40)
        #expect(Duration.seconds(Int64.max / 2).pollMilliseconds == 86_400_000)
    }

    @Test("A thousand calls from several threads wake once, and a later call wakes again")
    func waker() async throws {
        let waker = try Waker()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask { for _ in 0..<250 { waker.wake() } }
            }
        }
        func isReadable() -> Bool {
            var item = pollfd(fd: waker.readEnd, events: Int16(POLLIN), revents: 0)
            return poll(&item, 1, 0) == 1
        }
        #expect(isReadable())
        waker.take()
        #expect(!isReadable())
        waker.wake()
        #expect(isReadable())
    }
}
