import Relay
import Testing

@testable import RelayLab

@Suite("Lab: the scenario's file")
struct ScenarioTests {
    @Test("A file in the configuration's form is read: comments, trailing commas, names without quotes")
    func reads() throws {
        let text = """
            // an outage
            {
                title: "an outage", seed: 7, speed: 20, topic: "chat.lab",
                client: { reconnect: "relayx", window: "2min", ping: "1s", session: "take-over" },
                steps: [
                    { do: "send", count: 20, every: "100ms" },
                    { at: "2s", do: "refuse", for: "1.5s" },
                    { after: 0.5, do: "cut", how: "finish", afterBytes: 100, direction: "from-server" },
                    { expect: { status: "reconnecting", reason: "connectionLost" }, within: "1s" },
                    { expect: { lost: 0, recovery: "5s", attempts: 2 } },
                ],
            }
            """
        let scenario = try LabScenario(parsing: Array(text.utf8))
        #expect(scenario.title == "an outage" && scenario.seed == 7 && scenario.speed == 20)
        #expect(scenario.client.window == .seconds(120) && scenario.client.session == "take-over")
        #expect(!scenario.needsNetwork && scenario.steps.count == 5)
        var send = LabAct(.send)
        (send.count, send.every) = (20, .milliseconds(100))
        #expect(scenario.steps[0] == LabStep(.act(send, lasting: nil)))
        #expect(scenario.steps[1] == LabStep(at: .seconds(2), .act(LabAct(.refuse), lasting: .milliseconds(1_500))))
        var cut = LabAct(.cut)
        (cut.how, cut.afterBytes, cut.direction) = (.finish, 100, .fromServer)
        #expect(scenario.steps[2] == LabStep(after: .milliseconds(500), .act(cut, lasting: nil)))
        var expected = LabExpectation()
        (expected.status, expected.reason) = (.reconnecting, "connectionLost")
        #expect(scenario.steps[3] == LabStep(.expectation(expected, within: .seconds(1))))
        guard case .expectation(let last, within: LabStep.patience) = scenario.steps[4].kind else {
            Issue.record("the last step expects nothing")
            return
        }
        #expect(last.figures == ["lost": .exactly(0), "recovery": .atMost(.seconds(5))] && last.attempts == 2)
    }

    @Test(
        "A mistake is named with its line and column",
        arguments: [
            ("{\n  steps: [\n    { do: \"cutt\" },\n] }", 3, 11, "“cutt” is no act"),
            ("{ steps: [ { do: \"cut\", by: \"1s\" } ] }", 1, 25, "“cut” takes no “by”"),
            ("{ steps: [ { do: \"cut\", for: \"1s\" } ] }", 1, 25, "does not last"),
            ("{ steps: [\n { at: \"soon\", do: \"cut\" } ] }", 2, 8, "a length such as"),
            ("{ steps: [ { expect: { status: \"gone\" } } ] }", 1, 32, "“gone” is no status"),
            ("{ steps: [ { expect: { losst: 0 } } ] }", 1, 24, "“losst” is not a thing to expect"),
            ("{ steps: [ { expect: { lost: -1 } } ] }", 1, 30, "a whole number"),
            ("{ steps: [ { expect: { lost: 0 }, for: \"1s\" } ] }", 1, 35, "“within”"),
            ("{ steps: [ { at: \"1s\" } ] }", 1, 12, "neither does anything"),
            ("{ steps: [ { dew: \"cut\" } ] }", 1, 14, "“dew” is not a part of a step"),
            ("{ title: \"t\" }", 1, 1, "it has no steps"),
            ("{ speed: 0, steps: [] }", 1, 10, "0.01"),
            ("{ topic: \"a b\", steps: [] }", 1, 10, "topic"),
            ("{ client: { reconnect: \"no\" }, steps: [] }", 1, 24, "“no” is no reconnection policy"),
            ("{ steps: [", 1, 10, "never closed"),
        ])
    func mistakes(text: String, line: Int, column: Int, words: String) {
        do throws(LabScenarioError) {
            _ = try LabScenario(parsing: Array(text.utf8))
            Issue.record("it was read")
        } catch {
            #expect(error.line == line && error.column == column, "\(error)")
            #expect(error.words.contains(words), "\(error)")
        }
    }

    @Test("What is written reads back as the same")
    func roundTrip() throws {
        var steps = LabAct.Name.allCases.map {
            LabStep(.act(LabAct($0), lasting: $0.opposite == nil ? nil : .seconds(90)))
        }
        var act = LabAct(.delay)
        (act.by, act.jitter, act.direction) = (.milliseconds(20), .microseconds(1_500), .fromClient)
        steps.append(LabStep(at: .seconds(61), .act(act, lasting: nil)))
        act = LabAct(.kick)
        act.reason = "“enough”\n"
        steps.append(LabStep(after: .zero, .act(act, lasting: nil)))
        var expected = LabExpectation()
        (expected.status, expected.reason, expected.attempts) = (.disconnected, "kicked", 3)
        expected.figures = ["received": .atLeast(1), "lost": .exactly(0), "sent": .exactly(5)]
        expected.figures["notice"] = .atMost(.milliseconds(50))
        steps.append(LabStep(.expectation(expected, within: .seconds(3))))
        var client = LabClientSettings()
        (client.reconnect, client.window, client.suspendAfter) = ("rongcloud", .seconds(5), .seconds(1))
        (client.tokenLifetime, client.renewsToken, client.session) = (.seconds(8), false, "yield")
        var scenario = LabScenario(title: "“all”", seed: 1 << 40, client: client, steps: steps)
        (scenario.about, scenario.speed, scenario.topic) = ("all of it", 2.5, "chat.qa")
        #expect(try LabScenario(parsing: Array(scenario.text.utf8)) == scenario)
    }

    @Test("An act is read as it is written by hand")
    func byHand() throws {
        var delay = LabAct(.delay)
        (delay.by, delay.jitter) = (.milliseconds(300), .milliseconds(50))
        #expect(
            try LabStep(parsing: "delay by=300ms jitter=50ms for=3s")
                == LabStep(.act(delay, lasting: .seconds(3))))
        var send = LabAct(.send)
        send.count = 3
        #expect(try LabStep(parsing: "  send   count=3 ") == LabStep(.act(send, lasting: nil)))
        for line in ["", "cutt", "cut now", "cut for=3s", "send count=x"] {
            #expect(throws: LabScenarioError.self) { try LabStep(parsing: line) }
        }
    }

    @Test("Each reason of the client has a name of its own, and an expectation knows it")
    func reasons() {
        let reasons: [ConnectionReason] = [
            .closedByUser, .networkUnavailable, .connectionLost(""), .unreachable(""), .timeLimit(.zero),
            .windowExpired,
            .backgrounded, .invalidCredentials(""), .authenticationFailed(""), .tokenExpired, .credentialsRevoked(nil),
            .accessExpired(nil),
            .kicked(by: nil), .kickedByOtherDevice(nil), .banned(nil), .appBlocked(nil), .deactivated(nil),
            .permissionsChanged(nil), .proxyUnavailable(""), .tlsFailure(""), .store(""), .unknown(1),
        ]
        #expect(reasons.map(\.labName) == ConnectionReason.labNames)
        #expect(Set(ConnectionReason.labNames).count == 22)
    }

    @Test("The policy's times pass as much faster as the run does")
    func speed() {
        var client = LabClientSettings()
        (client.reconnect, client.window) = ("relayx", nil)
        let policy = client.reconnectPolicy(speed: 20)
        #expect(policy.window == .seconds(6) && policy.schedule == [.milliseconds(50)])
        #expect(client.reconnectPolicy(speed: 1) == .relayx)
    }

    @Test("A client under test goes to its own servers alone, and has its chances from the run's seed")
    func configuration() {
        let servers = [ServerAddress(host: "a"), ServerAddress(host: "b")]
        let configuration = LabClientSettings().configuration(servers, .none, speed: 1, seed: 7)
        #expect(configuration.seed == 7 && !configuration.followsCluster && !configuration.followsNetwork)
    }
}
