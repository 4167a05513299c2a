import Testing

@testable import Terminal

@Suite("Focus")
struct FocusTrackerTests {
    @Test("Unknown counts as foreground, and a focus-out without evidence changes nothing")
    func failsOpen() {
        var tracker = FocusTracker()
        #expect(tracker.isForeground)
        let first = tracker.handle(InputEvent.focusOut)
        #expect(first == nil)
        #expect(tracker.isForeground)
        let second = tracker.handle(InputEvent.focusOut)
        #expect(second == false)
    }

    @Test("After a focus-in or the terminal's word, a focus-out counts")
    func evidence() {
        for event in [InputEvent.focusIn, .reply(.mode(number: 1004, state: 1)), .reply(.mode(number: 1004, state: 2))]
        {
            var tracker = FocusTracker()
            _ = tracker.handle(event)
            let change = tracker.handle(InputEvent.focusOut)
            #expect(change == false)
        }
        var denied = FocusTracker()
        _ = denied.handle(InputEvent.reply(.mode(number: 1004, state: 0)))
        #expect(!denied.isReported)
    }

    @Test("Any key, paste or mouse event means foreground")
    func input() {
        let mouse = MouseEvent(kind: .press, button: .left, row: 0, column: 0)
        for event in [InputEvent.key(Key(.character("a"))), .paste("x"), .mouse(mouse), .focusIn] {
            var tracker = FocusTracker()
            _ = tracker.handle(InputEvent.focusIn)
            _ = tracker.handle(InputEvent.focusOut)
            #expect(!tracker.isForeground)
            let change = tracker.handle(event)
            #expect(change == true)
        }
    }

    @Test(
        "A terminal that is asked reports its focus, does not, or is silent about it",
        arguments: [
            ("\u{1B}[?1004;1$y\u{1B}[?62;22c", .reports), ("\u{1B}[?1004;2$y\u{1B}[?62c", .reports),
            ("\u{1B}[?1004;0$y\u{1B}[?62c", .denies), ("\u{1B}[?1004;4$y\u{1B}[?62c", .denies),
            ("\u{1B}[?62c", .silent), ("typed\u{1B}[?1;2c", .silent), ("\u{1B}[?1004;2$y", nil), ("typed", nil),
        ] as [(String, TerminalProbe.FocusAnswer?)])
    func asked(_ bytes: String, _ answer: TerminalProbe.FocusAnswer?) {
        var question = FocusQuestion()
        for byte in bytes.utf8 { question.take([byte]) }
        #expect(question.answer == answer)
    }

    @Test("A detached terminal is background, whether it reports its focus or not, and an attached one foreground")
    func attachment() {
        var tracker = FocusTracker()
        let detached = tracker.handle(.detached)
        // tmux speaks of the focus too, before or behind that.
        let out = tracker.handle(InputEvent.focusOut)
        let attached = tracker.handle(.attached)
        let focused = tracker.handle(InputEvent.focusIn)
        #expect([detached, out, attached, focused] == [false, nil, true, nil])
    }

    @Test("B27 Suspending is background, resuming is foreground, hanging up is the end")
    func lifecycle() {
        var tracker = FocusTracker()
        let suspended = tracker.handle(.suspended)
        let resumed = tracker.handle(.resumed)
        let idle = tracker.handle(.idle)
        let back = tracker.handle(.input)
        let gone = tracker.handle(.hungUp)
        let late = tracker.handle(.input)
        #expect([suspended, resumed, idle, back, gone, late] == [false, true, false, true, false, nil])
    }
}
