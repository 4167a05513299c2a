import Relay
import RelayLab
import RelayNetwork
import Terminal
import Testing

@testable import Parley

@Suite("The lab on the screen")
struct LabPaneTests {
    private func deeds(_ effects: ChatEffects) -> [LabDeed] {
        effects.core.flatMap { effect -> [LabDeed] in if case .lab(.perform(let deeds)) = effect { deeds } else { [] } }
    }

    @Test("F9 asks before the connection goes behind the proxy; n and Escape leave it where it is")
    func asks() {
        var desk = Desk.joined("chat.lobby")
        desk.press(.function(9))
        #expect(desk.bottom.contains("Put this chat's connection behind the lab? y/N"))
        desk.press(.plain("n"))
        #expect(desk.effects.isEmpty && desk.model.lab == nil && desk.view == .conversation("chat.lobby"))
        desk.press(.function(9))
        #expect(desk.press(.plain("y")) == [.lab(.open)])
        #expect(desk.view == .lab && desk.focus == .main)
        desk.press(.plain("c"))
        #expect(desk.notice.contains("One moment"))
    }

    @Test("A slash begins a command, whose letters are no keys of the lab")
    func command() {
        var desk = Scene.labOpened(Size(rows: 40, columns: 120))
        desk.press(.plain("/"))
        for letter in "leave" { #expect(deeds(desk.press(.plain(letter))).isEmpty) }
        #expect(desk.text == "/leave" && desk.focus == .compose)
        #expect(desk.model.lab?.isOn == true && desk.view == .lab)
    }

    @Test("Over a topic that was left meanwhile nothing can be written, and that is said")
    func left() {
        var desk = Scene.labOpened(Size(rows: 40, columns: 120))
        desk.enter("/leave chat.lobby")
        #expect(desk.view == .lab)
        #expect(desk.shows("/join chat.lobby to write"))
    }

    @Test("Each row has a key of its own, which does it wherever the selection is")
    func keys() {
        #expect(Set(LabChoice.allCases.map(\.key)).count == LabChoice.allCases.count)
        var desk = Scene.labOpened(Size(rows: 40, columns: 120))
        desk.model.lab?.hindrances = [:]
        for choice in LabChoice.allCases where choice != .restore {
            let done = deeds(desk.press(choice.key))
            #expect(done.map(\.act) == choice.acts, "\(choice)")
            #expect(desk.model.lab?.choice == choice)
        }
        #expect(desk.text.isEmpty)
    }

    @Test("The row that stands for an act does it, and each act on the link has one")
    func rowsOfActs() {
        for name in LabAct.Name.allCases {
            if let choice = name.choice {
                #expect(choice.acts.contains { $0.name == name }, "\(name)")
            } else {
                #expect(!name.isOfLink, "\(name) has no row")
            }
        }
    }

    @Test("The link is cut until it is restored: newcomers are refused, and the connection is reset")
    func cut() throws {
        var desk = Scene.labOpened(Size(rows: 24, columns: 80))
        let done = deeds(desk.press(.plain("c")))
        #expect(done == [LabDeed(act: LabAct(.refuse), lasting: nil), LabDeed(act: LabAct(.cut), lasting: nil)])
        desk.send(.lab(.glance(LabScene.cut.glance)))
        #expect(desk.screen().contains { $0.contains("cut the link") && $0.contains("● until restored") })
        // Another row begins the same in another form, and is not the one that lasts.
        #expect(desk.screen().contains { $0.contains("refuse new connections") && !$0.contains("●") })
        #expect(deeds(desk.press(.plain("r"))).map(\.act.name) == [.restore])
    }

    @Test("Restoring says how one connects again where the connection was ended for good")
    func ended() {
        var desk = Scene.labOpened(Size(rows: 24, columns: 80))
        desk.press(.plain("r"))
        #expect(desk.model.notices.shown == nil)
        // The end of a ban has its own way back.
        desk.becomes(.disconnected, .banned(nil))
        desk.press(.plain("r"))
        #expect(!desk.notice.contains("connects again"))
        desk.becomes(.disconnected, .kicked(by: nil))
        #expect(deeds(desk.press(.plain("r"))).map(\.act.name) == [.restore])
        #expect(desk.notice.contains("w connects again"))
    }

    @Test("Plus and minus change how long the selected fault lasts, from a second to until it is restored")
    func lengths() {
        var desk = Scene.labOpened(Size(rows: 24, columns: 80))
        desk.press(.plain("n"))
        #expect(deeds(desk.effects).last?.lasting == .seconds(10))
        desk.press(.plain("+"))
        #expect(deeds(desk.press(.plain("n"))).last?.lasting == .seconds(20))
        for _ in 0..<20 { desk.press(.right) }
        #expect(deeds(desk.press(.plain("n"))).last == LabDeed(act: LabAct(.silence), lasting: nil))
        for _ in 0..<20 { desk.press(.plain("-")) }
        #expect(deeds(desk.press(.plain("n"))).last?.lasting == .seconds(1))
        // What is over in a moment has no length.
        desk.press(.plain("x"), .plain("+"))
        #expect(deeds(desk.press(.plain("x"))) == [LabDeed(act: LabAct(.cut), lasting: nil)])
    }

    @Test("What cannot be done here says why, and is not done")
    func hindered() {
        var desk = Scene.labOpened(Size(rows: 40, columns: 120))
        #expect(desk.screen().contains { $0.contains("ban you") && $0.contains("not here") })
        #expect(desk.press(.plain("B")).isEmpty)
        let words = "Not here: Parley did not start this network; its administrator can do that."
        #expect(desk.notice == words)
    }

    @Test("The rows of the server's side are there where Parley started it, that of the leader on a cluster alone")
    func sites() throws {
        func hindered(_ site: LabSite, isShared: Bool = false) -> [LabChoice] {
            var desk = LabDesk(topic: nil)
            desk.hindrances = site.hindrances(isShared: isShared)
            return LabChoice.allCases.filter { desk.hindrance(of: $0) != nil }
        }
        let directory = NetworkDirectory(path: "/nowhere/network")
        let alone = LabSite.network(LabHostedNetwork(directory: directory, user: "alice") {})
        let places = (1...3).map { ServerAddress(host: "127.0.0.1", port: $0) }
        let cluster = LabSite.cluster(LocalCluster(directory: directory), places)
        #expect(hindered(.elsewhere) == [.killServer, .stopLeader, .fillDisk, .expire, .revoke, .kick, .ban, .block])
        #expect(hindered(alone) == [.stopLeader])
        let words = alone.hindrances(isShared: false)[.stopLeader]?.words
        #expect(words?.contains("parley network cluster start") == true)
        #expect(hindered(cluster).isEmpty && hindered(cluster, isShared: true) == [.login])
        // Whose server dies goes to the others of the cluster, and elsewhere to none.
        #expect(cluster.others(than: places[1]) == [places[0], places[2]] && alone.others(than: places[1]).isEmpty)
    }

    @Test("What is typed behind Tab goes to the topic below; letters in the list are never a text")
    func typing() {
        var desk = Scene.labOpened(Size(rows: 24, columns: 80))
        desk.press(.plain("m"))
        #expect(desk.text.isEmpty && desk.notice.contains("no key of the lab"))
        desk.press(.tab)
        let effects = desk.enter("a line with c and r")
        guard case .topics(.publish(_, "chat.lobby", "a line with c and r"))? = effects.core.first else {
            Issue.record("\(effects)")
            return
        }
        #expect(desk.view == .lab && deeds(desk.effects).isEmpty)
        desk.press(.function(9))
        #expect(desk.focus == .main && desk.view == .lab)
    }

    @Test("News come while the pane can be seen, and no longer; nothing changes by time alone then")
    func watched() {
        var desk = Desk.joined("chat.lobby")
        desk.press(.function(9), .plain("y"))
        #expect(desk.send(.lab(.opened([:]))) == [.lab(.watch(true))])
        desk.send(.lab(.glance(LabScene.begun.glance)))
        #expect(desk.press(.escape) == [.lab(.watch(false))])
        #expect(desk.view == .conversation("chat.lobby") && desk.model.lab?.isOn == true)
        #expect(desk.screen()[1].contains("behind the lab, F9"))
        desk.model.notices.shown = nil
        #expect(desk.model.nextChange(after: desk.model.now.instant) == nil)
        #expect(desk.press(.function(9)) == [.lab(.watch(true))])
        #expect(desk.press(.function(8)) == [.lab(.watch(false))])
        #expect(desk.press(.function(8)) == [.lab(.watch(true))])
        desk.press(.function(9))
        #expect(desk.press(.plain("e")) == [.lab(.end)])
        #expect(desk.send(.lab(.over(LabScene.over.glance))) == [.lab(.watch(false))])
        #expect(!desk.screen()[1].contains("behind the lab"))
    }

    @Test("At the end the ledger stands, the messages are named, and Enter begins again, if one wants")
    func ledger() {
        var desk = Scene.ledger(Size(rows: 40, columns: 120))
        let rows = desk.screen()
        #expect(rows.contains { $0.contains("✗ Not everything is accounted for.") })
        for (words, value) in [
            ("sent", "3"), ("acknowledged", "3"), ("received", "2"), ("twice", "1"), ("missing", "1"),
        ] {
            #expect(rows.contains { $0.contains(" \(words) ") && $0.contains(" \(value)") }, "\(words)")
        }
        #expect(rows.contains { $0.contains("Acknowledged and never delivered: you 3.") })
        #expect(desk.press(.plain("c")).isEmpty)
        // Asked as at first.
        #expect(desk.press(.enter).isEmpty)
        #expect(desk.press(.plain("y")) == [.lab(.open)])
    }

    @Test("F9 after a ledger begins a new rehearsal, from the ledger and from the chat, if one wants")
    func again() {
        var desk = Scene.ledger(Size(rows: 40, columns: 120))
        #expect(desk.press(.function(9)).isEmpty && desk.view == .lab)
        var begun = Scene.ledger(Size(rows: 40, columns: 120))
        begun.press(.function(9))
        #expect(begun.press(.plain("y")) == [.lab(.open)])
        desk.press(.plain("n"))
        #expect(desk.view == .lab && desk.overlay == nil)
        desk.press(.escape)
        #expect(desk.view != .lab)
        // The ledger is in view again behind the question.
        desk.press(.function(9))
        #expect(desk.shows("✗ Not everything is accounted for."))
        #expect(desk.bottom.contains("y/N"))
        #expect(desk.press(.plain("y")) == [.lab(.open)])
    }

    @Test("A small screen scrolls through the ledger to its end")
    func scrolls() {
        var desk = Scene.ledger(Size(rows: 8, columns: 40))
        var seen = ""
        for _ in 0..<30 {
            seen += desk.screen().joined(separator: "\n")
            desk.press(.down)
        }
        #expect(seen.contains("time to recover") && seen.contains("Delivered again: you 2."))
    }

    @Test("What was done is kept by a command that stands ready; without a lab there is nothing to keep")
    func save() {
        var desk = Desk.joined("chat.lobby")
        desk.enter("/lab save here.json5")
        #expect(desk.effects.isEmpty && desk.model.notices.shown?.kind == .failure)
        desk = Scene.labOpened(Size(rows: 24, columns: 80))
        desk.press(.alt("s"))
        #expect(desk.text.hasPrefix("/lab save rehearsal-20251121T1000Z"))
        #expect(desk.press(.enter) == [.lab(.save(path: "rehearsal-20251121T1000Z.json5"))])
        #expect(desk.enter("/lab restore").isEmpty && desk.notice.contains("/lab [save FILE]"))
    }

    @Test("The palette has the lab's keys in the lab, and not elsewhere, where they would do nothing")
    func palette() {
        var desk = Scene.labOpened(Size(rows: 24, columns: 80))
        func hasCut(_ desk: Desk) -> Bool {
            desk.model.palette?.items.contains { $0.target == .own(table: LabPane.Action.tableName, 0) } == true
        }
        desk.press(.control("k"))
        #expect(hasCut(desk))
        desk.press(.escape, .escape, .control("k"))
        #expect(desk.view == .conversation("chat.lobby") && !hasCut(desk))
    }

    @Test("What cannot be opened says why, and can be tried again")
    func failed() {
        var desk = Desk.joined("chat.lobby")
        desk.press(.function(9), .plain("y"))
        desk.send(.lab(.failed(error: "No port.")))
        #expect(desk.shows("The lab cannot be opened. No port."))
        #expect(desk.press(.enter) == [.lab(.open)])
    }
}
