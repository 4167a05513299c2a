import Testing

@testable import Terminal

@Suite("The terminal's notifications")
struct NotificationTests {
    private static let hello = TerminalNotification(title: "bob in chat.lobby", body: "alice: look")

    private static func text(
        _ notification: TerminalNotification, _ method: NotificationMethod, isInTmux: Bool = false
    ) -> String {
        String(
            decoding: NotificationSequence.bytes(notification, by: method, isInTmux: isInTmux), as: UTF8.self)
    }

    @Test("Each way has its form: one text, a title and a text, or both under a name")
    func forms() {
        #expect(Self.text(Self.hello, .bell) == "\u{7}")
        #expect(Self.text(Self.hello, .osc9) == "\u{1B}]9;bob in chat.lobby: alice: look\u{1B}\\")
        #expect(Self.text(Self.hello, .osc777) == "\u{1B}]777;notify;bob in chat.lobby;alice: look\u{1B}\\")
        #expect(
            Self.text(Self.hello, .osc99)
                == "\u{1B}]99;i=parley:d=0;bob in chat.lobby\u{1B}\\\u{1B}]99;i=parley:p=body;alice: look\u{1B}\\")
    }

    @Test("Within tmux it goes as what is passed on, each escape twice, and the bell goes as it is")
    func tmux() {
        #expect(
            Self.text(Self.hello, .osc9, isInTmux: true)
                == "\u{1B}Ptmux;\u{1B}\u{1B}]9;bob in chat.lobby: alice: look\u{1B}\u{1B}\\\u{1B}\\")
        #expect(Self.text(Self.hello, .bell, isInTmux: true) == "\u{7}")
    }

    @Test(
        "No text ends the sequence, begins another one or breaks its line",
        arguments: [NotificationMethod.osc9, .osc777, .osc99])
    func hostile(method: NotificationMethod) {
        let plain = TerminalNotification(title: "a", body: "b")
        let evils = [
            "\u{1B}\\", "\u{7}", "\u{9C}", "\u{1B}]52;c;aGk=\u{7}", "\u{9B}2J", "\n\r\t\u{0}\u{7F}", "\u{202E}x",
        ]
        for evil in evils {
            let sent = Self.text(TerminalNotification(title: evil, body: "b" + evil + "c"), method)
            let controls = sent.unicodeScalars.filter { $0.value < 0x20 || 0x7F..<0xA0 ~= $0.value }
            let expected = Self.text(plain, method).unicodeScalars.filter { $0.value < 0x20 }
            #expect(Array(controls) == Array(expected), "\(sent.debugDescription)")
            #expect(!sent.contains("\u{202E}"))
        }
    }

    @Test("Texts are cut by columns and by bytes, and what divides the parts of OSC 777 is taken out of them")
    func bounds() {
        let wide = TerminalNotification(
            title: String(repeating: "日", count: 10_000),
            body: String(repeating: "e\u{301}\u{302}\u{303}", count: 10_000))
        for method in [NotificationMethod.osc9, .osc777, .osc99] {
            #expect(NotificationSequence.bytes(wide, by: method, isInTmux: false).count < 2_300)
        }
        #expect(Self.text(wide, .osc777).contains("日…;"))
        // The terminal looks at bytes, whatever marks are behind them.
        let divided = Self.text(TerminalNotification(title: "a;b;\u{301}c", body: "c;d"), .osc777)
        #expect(divided == "\u{1B}]777;notify;a,b,\u{301}c;c,d\u{1B}\\")
    }

    @Test("A text that begins with a number is not taken for another request, such as a progress bar")
    func numbers() {
        let text = Self.text(TerminalNotification(title: "4;1;50", body: ""), .osc9)
        #expect(text == "\u{1B}]9;· 4;1;50\u{1B}\\")
    }

    // MARK: Which way

    private static func route(_ type: String, _ environment: [String: String] = [:]) -> NotificationRoute {
        NotificationRoute(type: type) { environment[$0] }
    }

    @Test("By itself it goes by what the terminal is known to take, else by the bell")
    func auto() {
        #expect(Self.route("xterm-256color").methods(for: .auto) == [.bell])
        #expect(Self.route("xterm-kitty").methods(for: .auto) == [.osc99])
        for type in ["foot", "foot-extra", "contour", "rxvt-unicode-256color", "xterm-ghostty", "wezterm"] {
            #expect(Self.route(type).methods(for: .auto) == [.osc777])
        }
        #expect(Self.route("xterm-256color", ["TERM_PROGRAM": "WezTerm"]).methods(for: .auto) == [.osc777])
        #expect(Self.route("xterm-256color", ["TERM_PROGRAM": "iTerm.app"]).methods(for: .auto) == [.osc9])
        #expect(Self.route("xterm-256color", ["LC_TERMINAL": "iTerm2"]).methods(for: .auto) == [.osc9])
        var asked = Self.route("foot")
        asked.hasAnswered = true
        #expect(asked.methods(for: .auto) == [.osc99])
    }

    @Test("Within tmux the bell rings as well, since tmux may pass nothing else on")
    func autoInTmux() {
        let tmux = ["TMUX": "/tmp/tmux-0/default,1,0", "TERM_PROGRAM": "tmux"]
        #expect(Self.route("screen-256color", tmux).methods(for: .auto) == [.bell])
        #expect(Self.route("tmux-256color").methods(for: .auto) == [.bell])
        let kitty = tmux.merging(["KITTY_WINDOW_ID": "1"]) { $1 }
        #expect(Self.route("tmux-256color", kitty).methods(for: .auto) == [.bell, .osc99])
        let wezterm = tmux.merging(["WEZTERM_PANE": "0"]) { $1 }
        #expect(Self.route("tmux-256color", wezterm).methods(for: .auto) == [.bell, .osc777])
        #expect(!Self.route("tmux-256color").isAsked(type: "tmux-256color"))
        #expect(!Self.route("screen").isAsked(type: "screen") && !Self.route("screen").isInTmux)
        #expect(Self.route("xterm-256color").isAsked(type: "xterm-256color"))
    }

    @Test("What the person has named counts whatever the terminal is, and nothing is nothing")
    func named() {
        let route = Self.route("xterm-kitty", ["TMUX": "x"])
        #expect(route.methods(for: .always(.osc9)) == [.osc9] && route.methods(for: .always(.bell)) == [.bell])
        #expect(route.methods(for: .never).isEmpty)
    }

    // MARK: The answer

    private static let answer =
        "\u{1B}]99;i=parley:p=?;a=focus,report:o=always,unfocused,invisible:u=0,1,2:p=title,body,?,close,icon,alive"
        + ":c=1:w=1\u{1B}\\"

    @Test("The terminal's answer is found however its bytes are split, and never typed")
    func answer() {
        let bytes = Array(Self.answer.utf8)
        for place in 0...bytes.count {
            var parser = InputParser()
            let events = parser.feed(bytes[..<place]) + parser.feed(bytes[place...])
            #expect(events == [.reply(.notifications)])
        }
    }

    @Test("An answer that comes in pieces on a slow line is not typed either")
    func late() {
        let bytes = Array(Self.answer.utf8)
        for place in 1..<bytes.count {
            var parser = InputParser()
            let first = parser.feed(bytes[..<place]) + parser.flush()
            let events = first + parser.feed(bytes[place...]) + parser.flush()
            let typed = events.filter { event in
                if case .key(let key) = event { key != Key(.escape) && key != .alt("]") } else { false }
            }
            #expect(typed.isEmpty, "torn at \(place): \(typed)")
        }
    }

    @Test("Other strings are no answer", arguments: ["99;i=other:p=?;", "99;;hello", "9;hello", "990;i=parley:p=?"])
    func others(string: String) {
        var parser = InputParser()
        #expect(parser.feed(Array("\u{1B}]\(string)\u{1B}\\".utf8)) == [])
    }
}
