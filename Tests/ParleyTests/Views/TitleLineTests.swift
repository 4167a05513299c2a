import Relay
import Terminal
import Testing

@testable import Parley

@Suite("The title line")
struct TitleLineTests {
    private static let widths = Array(ScreenLayout.minimum.columns...60) + [72, 80, 99, 120, 160, 240]
    private static let reasons: [ConnectionReason] = [
        .connectionLost("the peer reset it"), .unreachable("nothing answers at nats://127.0.0.1:40123"),
        .connectionLost(""), .banned("spam"), .networkUnavailable,
        .tlsFailure(String(repeating: "certificate ", count: 200)), .connectionLost("\u{1B}[2J\u{202E}切断された接続\n\r"),
    ]

    private static func status(
        _ state: ConnectionStatus.State, _ reason: ConnectionReason? = nil, isLong: Bool = false
    ) -> ConnectionStatus {
        var status = ConnectionStatus(state: state, reason: reason)
        switch state {
        case .connected: status.roundTripTime = .microseconds(400)
        case .connecting, .reconnecting:
            status.attempt = 3
            status.nextRetryAt = Desk.start.advanced(by: .milliseconds(3_500))
        case .initialized, .suspended, .disconnected: break
        }
        if isLong {
            status.isLongOutage = true
            status.outageBegan = Desk.start.advanced(by: .seconds(-300))
        }
        return status
    }

    private static func line(
        _ status: ConnectionStatus, user: String = "alice", network: String = "local", columns: Int,
        _ counts: TitleCounts = TitleCounts(queued: 1, unread: 9, letters: 12)
    ) -> TitleLine {
        let identity = Identity(user: user, network: network)
        let words = TitleLine.Words(identity: identity, status: StatusText(status, now: Desk.start), counts: counts)
        return TitleLine(words, columns: columns)
    }

    @Test("B54 The state and the user are in the title at every width, and nothing is wider than it")
    func always() {
        for columns in Self.widths {
            for state in ConnectionStatus.State.allCases {
                for number in [0, 3, 6] {
                    let status = Self.status(state, Self.reasons[number], isLong: number > 0)
                    let line = Self.line(status, columns: columns)
                    let left = line.left.description
                    #expect(line.width <= columns)
                    #expect(line.status.description.hasPrefix("\(state.symbol) \(state.word)"))
                    #expect(left.contains(columns >= 24 ? "alice" : "a"), "\(columns): \(left)")
                }
            }
        }
    }

    @Test("B54 Why the connection was lost is in the title from 80 columns on, and the user's name with it")
    func reason() {
        for columns in stride(from: 80, through: 240, by: 4) {
            for reason in Self.reasons {
                let line = Self.line(Self.status(.reconnecting, reason), columns: columns)
                let whole = SafeText(reason.words).description
                let words = line.status.description
                #expect(words.contains(reason.shortWords) || words.hasSuffix(whole), "\(columns): \(words)")
                #expect(line.left.description.contains("alice"))
                #expect(line.status.description.contains("attempt 3 · in 4 s"))
                #expect(line.counts.description.contains("⇅ 1"))
            }
        }
    }

    @Test(
        "B54 What the system said is cut in its middle, so that its end stays",
        arguments: [
            (80, "· server unreachable"), (100, "· server unreachable: nothi…40123"),
            (120, "· server unreachable: nothing answers…127.0.0.1:40123"),
            (240, "· The server cannot be reached (nothing answers at nats://127.0.0.1:40123)."),
        ])
    func middle(columns: Int, words: String) {
        let line = Self.line(Self.status(.reconnecting, Self.reasons[1]), columns: columns)
        #expect(line.status.description.hasSuffix(words), "\(line.status)")
    }

    @Test("B54 What is not sent is counted at every width that has room for its state, before anything else is")
    func queued() {
        for columns in stride(from: 26, through: 240, by: 3) {
            let line = Self.line(Self.status(.reconnecting, Self.reasons[0]), columns: columns)
            #expect(line.counts.description.contains("⇅ 1"), "\(columns)")
        }
        for columns in stride(from: 40, through: 240, by: 4) {
            let counts = Self.line(Self.status(.reconnecting, Self.reasons[0]), columns: columns).counts.description
            #expect(counts.contains("# 9") && counts.contains("✉ 12"), "\(columns)")
        }
    }

    @Test("A long or wide name and a long network leave room for the state")
    func longNames() {
        let name = String(repeating: "名前", count: 40)
        for columns in Self.widths {
            let line = Self.line(
                Self.status(.disconnected, Self.reasons[3]), user: name, network: "nats://[2001:db8::1]:4222,other",
                columns: columns)
            #expect(line.width <= columns)
            #expect(line.status.description.hasPrefix("✕ DISCONNECTED"))
        }
        // Before it is known who is signed in, the network is named.
        #expect(Self.line(Self.status(.connecting), user: "", columns: 80).left.description.contains("local"))
    }
}
