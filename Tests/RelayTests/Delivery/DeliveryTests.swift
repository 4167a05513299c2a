import NATS
import Relay
import Testing

/// What ``Delivery`` makes of the server's answers.
@Suite struct DeliveryTests {
    private let now = ContinuousClock.now
    private let letter = Destination.postbox(user: "bob", postbox: "work")

    private func message(_ id: String, _ destination: Destination = .topic("t")) -> OutboxMessage {
        OutboxMessage(id: id, destination: destination, payload: [1])
    }

    private func opened(_ destination: Destination = .topic("t"), tellsOfRecipients: Bool = true) throws -> Delivery {
        var delivery = Delivery()
        #expect(
            try delivery.submit(message("1", destination), at: now) == [.tell(PublishNews(id: "1", state: .queued))])
        let actions = delivery.opened(tellsOfRecipients: tellsOfRecipients, at: now)
        #expect(actions.first == .send(message("1", destination)))
        return delivery
    }

    private func ended(
        _ id: String, _ state: PublishNews.State, mayBeStored: Bool = false
    ) -> Delivery.Action {
        .end(PublishNews(id: id, state: state, mayBeStored: mayBeStored))
    }

    private func acknowledged(_ id: String, _ sequence: UInt64) -> (String, Result<PublishAcknowledgement, NATSError>) {
        (id, .success(PublishAcknowledgement(stream: "S", sequence: sequence)))
    }

    @Test("B29: what leaves at once is reported as sent, not as waiting")
    func news() throws {
        var delivery = Delivery()
        _ = delivery.opened(tellsOfRecipients: true, at: now)
        #expect(try delivery.submit(message("1"), at: now) == [.send(message("1"))])
        #expect(try delivery.submit(message("2"), at: now) == [.tell(PublishNews(id: "2", state: .queued))])
        #expect(
            delivery.answered([acknowledged("1", 4)], at: now)
                == [ended("1", .acknowledged(sequence: 4)), .send(message("2"))])
    }

    @Test("B32: nothing is told of what the disk does not have yet, but its end")
    func keptFirst() throws {
        var delivery = Delivery()
        _ = delivery.opened(tellsOfRecipients: true, at: now)
        for id in ["1", "2", "3"] {
            #expect(try delivery.submit(message(id), isKeptFirst: true, at: now).isEmpty)
        }
        #expect(delivery.cancel(id: "3", at: now) == [ended("3", .failed(.cancelled))])
        #expect(
            delivery.kept(before: .max, leaves: true, at: now)
                == [.send(message("1")), .tell(PublishNews(id: "2", state: .queued))])
    }

    @Test("B30: a time-out asks whether the connection lives, and the message goes again")
    func timeout() throws {
        var delivery = try opened()
        let actions = delivery.answered([("1", .failure(.timeout("x")))], at: now)
        #expect(actions.prefix(2) == [.probe, .tell(PublishNews(id: "1", state: .queued))])
        #expect(delivery.moment(at: now + .milliseconds(250)) == [.send(message("1"))])
    }

    @Test("B29: the end of a connection ends no message; the same answer from the server does not count twice")
    func lostConnection() throws {
        var delivery = try opened()
        for error in [NATSError.connectionLost("x"), .closedByServer(nil), .staleConnection, .closed, .cancelled] {
            #expect(delivery.answered([("1", .failure(error))], at: now).isEmpty)
        }
        #expect(delivery.connectionLost() == [.tell(PublishNews(id: "1", state: .queued))])
        #expect(delivery.answered([acknowledged("1", 3)], at: now).count == 1)
        #expect(delivery.answered([acknowledged("1", 3)], at: now).isEmpty)
    }

    @Test("B29: what the server will never take fails at once, and what is behind it goes on")
    func refused() throws {
        var delivery = try opened()
        _ = try delivery.submit(message("2"), at: now)
        #expect(
            delivery.answered([("1", .failure(.publishNotPermitted(subject: "h.t")))], at: now)
                == [ended("1", .failed(.notAuthorized("publishing to t"))), .send(message("2"))])
    }

    @Test("B29: without permission to hear answers a new line fails at once, and one that was sent before waits")
    func answersRefused() throws {
        let refusal = NATSError.subscribeNotPermitted(subject: "_INBOX.x.*")
        let reason = RelayError.notAuthorized("hearing what the server answers, on _INBOX.x.*")
        var delivery = try opened()
        #expect(delivery.answered([("1", .failure(refusal))], at: now) == [ended("1", .failed(reason))])
        // Under way when the permission went.
        delivery = try opened()
        _ = delivery.answered([("1", .failure(.timeout("x")))], at: now)
        var moment = now
        for pause in [250, 500, 1_000] {
            moment += .milliseconds(pause)
            #expect(delivery.moment(at: moment) == [.send(message("1"))])
            #expect(
                delivery.answered([("1", .failure(refusal))], at: moment).first
                    == .tell(PublishNews(id: "1", state: .queued)))
        }
        // On an earlier connection.
        delivery = try opened()
        _ = delivery.connectionLost()
        #expect(delivery.opened(tellsOfRecipients: true, at: now + .seconds(1)) == [.send(message("1"))])
        #expect(
            delivery.answered([("1", .failure(refusal))], at: now + .seconds(1)).first
                == .tell(PublishNews(id: "1", state: .queued)))
    }

    @Test("B32: what is refused for good is known not to be stored, unless an earlier attempt went unanswered")
    func doubt() throws {
        let refusals: [NATSError] = [
            .publishNotPermitted(subject: "h.t"), .payloadTooLarge(bytes: 2, limit: 1),
            .jetStream(JetStreamFailure(code: 503, errorCode: 10_077, text: "maximum messages exceeded")),
            .jetStream(JetStreamFailure(code: 400, errorCode: 10_054, text: "message size exceeds maximum allowed")),
        ]
        func mayBeStored(_ actions: [Delivery.Action]) -> [Bool] {
            actions.compactMap { if case .end(let end) = $0 { end.mayBeStored } else { nil } }
        }
        for refusal in refusals {
            var delivery = try opened()
            #expect(mayBeStored(delivery.answered([("1", .failure(refusal))], at: now)) == [false], "\(refusal)")
            // Its connection ended before the answer came.
            delivery = try opened()
            _ = delivery.connectionLost()
            #expect(delivery.opened(tellsOfRecipients: true, at: now).first == .send(message("1")))
            #expect(mayBeStored(delivery.answered([("1", .failure(refusal))], at: now)) == [true], "\(refusal)")
            // The answer did not come in time.
            delivery = try opened()
            _ = delivery.answered([("1", .failure(.timeout("x")))], at: now)
            _ = delivery.moment(at: now + .milliseconds(250))
            #expect(mayBeStored(delivery.answered([("1", .failure(refusal))], at: now)) == [true], "\(refusal)")
            // It was looked for meanwhile, and not found.
            delivery = try opened()
            _ = delivery.connectionLost()
            let later = now + .seconds(600)
            _ = delivery.opened(tellsOfRecipients: true, at: later)
            #expect(delivery.lookedUp(id: "1", .absent, at: later) == [.send(message("1"))])
            #expect(mayBeStored(delivery.answered([("1", .failure(refusal))], at: later)) == [false], "\(refusal)")
        }
        // What an earlier run may have sent stays in doubt where it cannot be looked for.
        var delivery = Delivery()
        _ = delivery.restore([OutboxMessage(id: "1", destination: letter, payload: [1], mayBeStored: true)])
        #expect(mayBeStored(delivery.opened(tellsOfRecipients: true, at: now)) == [true])
        // What waited and was never sent is not in doubt, and what was under way is.
        delivery = Delivery(policy: OutboxPolicy(discardsOnWindowExpiry: true, maximumInFlight: 1))
        for id in ["1", "2"] { _ = try delivery.submit(message(id), at: now) }
        _ = delivery.opened(tellsOfRecipients: true, at: now)
        #expect(mayBeStored(delivery.sessionEnded(.windowExpired)) == [true, false])
    }

    @Test("A topic without a stream: asked about at the second refusal, and given up when there is no stream")
    func missingStream() throws {
        var delivery = try opened()
        let nobody = NATSError.noResponders(subject: "h.t")
        #expect(!delivery.answered([("1", .failure(nobody))], at: now).contains(.askStream(id: "1", topic: "t")))
        _ = delivery.moment(at: now + .milliseconds(250))
        let actions = delivery.answered([("1", .failure(nobody))], at: now + .milliseconds(250))
        #expect(actions.contains(.askStream(id: "1", topic: "t")))
        #expect(
            delivery.streamIsMissing(id: "1", at: now + .milliseconds(260))
                == [ended("1", .failed(.server(code: 503, "no stream stores t")))])
    }

    @Test("B51: a letter that no postbox takes is asked about, and says why it failed")
    func letters() throws {
        var delivery = try opened(letter)
        let question = Delivery.Action.askRecipient(id: "1", user: "bob", postbox: "work", isRefused: true)
        let nobody = NATSError.noResponders(subject: "p")
        #expect(delivery.answered([("1", .failure(nobody))], at: now).first == question)
        // Its stream had no leader for a moment.
        #expect(delivery.recipientAnswered(id: "1", .accepting, isRefused: true, at: now).isEmpty)
        #expect(delivery.moment(at: now + .milliseconds(250)).first == .send(message("1", letter)))
        #expect(delivery.answered([("1", .failure(nobody))], at: now + .milliseconds(260)).first == question)
        #expect(
            delivery.recipientAnswered(id: "1", .disabled, isRefused: true, at: now)
                == [ended("1", .failed(.postboxNotAccepting("bob/work", because: .disabled)))])
    }

    @Test("B51: a letter that is refused while nobody says why is tried again for as long as a host needs to start")
    func silence() throws {
        var delivery = try opened(letter)
        let nobody = NATSError.noResponders(subject: "p")
        var time = now
        for pause in [250, 500, 1_000, 2_000, 2_000, 2_000] {
            _ = delivery.answered([("1", .failure(nobody))], at: time)
            #expect(delivery.recipientAnswered(id: "1", nil, isRefused: true, at: time).isEmpty)
            time += .milliseconds(pause)
            #expect(delivery.moment(at: time).first == .send(message("1", letter)), "\(pause)")
        }
        _ = delivery.answered([("1", .failure(nobody))], at: time)
        #expect(
            delivery.recipientAnswered(id: "1", nil, isRefused: true, at: time)
                == [ended("1", .failed(.postboxNotAccepting("bob/work")))])
    }

    @Test("B51: a letter to a full postbox says that it is full, and is not sent again")
    func fullPostbox() throws {
        for text in ["maximum messages exceeded", "maximum bytes exceeded"] {
            var delivery = try opened(letter)
            let full = NATSError.jetStream(JetStreamFailure(code: 503, errorCode: 10_077, text: text))
            let error = RelayError.postboxNotAccepting("bob/work", because: .full)
            #expect(delivery.answered([("1", .failure(full))], at: now) == [ended("1", .failed(error))])
            #expect(error.words == "bob's postbox work is full. Ask its owner to delete letters.")
        }
    }

    @Test("B51: that a postbox is full ends a letter that was refused, and not one that its stream has yet to answer")
    func fullWhileUnderWay() throws {
        let error = RelayError.postboxNotAccepting("bob/work", because: .full)
        var delivery = try opened(letter, tellsOfRecipients: false)
        #expect(delivery.recipientAnswered(id: "1", .full, isRefused: false, at: now).isEmpty)
        #expect(delivery.recipientAnswered(id: "1", .full, isRefused: true, at: now).isEmpty)
        _ = delivery.answered([("1", .failure(.noResponders(subject: "p")))], at: now)
        #expect(
            delivery.recipientAnswered(id: "1", .full, isRefused: true, at: now) == [ended("1", .failed(error))])
    }

    @Test("B51: where the server does not tell, each letter is asked about while it is under way")
    func lettersOfOldServers() throws {
        for state in [RecipientReply.State.unknownUser, .unknownPostbox, .disabled] {
            var delivery = try opened(letter, tellsOfRecipients: false)
            #expect(
                delivery.recipientAnswered(id: "1", state, isRefused: false, at: now)
                    == [ended("1", .failed(.postboxNotAccepting("bob/work", because: state)))])
        }
        var delivery = try opened(letter, tellsOfRecipients: false)
        #expect(delivery.recipientAnswered(id: "1", nil, isRefused: false, at: now).isEmpty)
        #expect(delivery.answered([acknowledged("1", 2)], at: now).count == 1)
        #expect(delivery.recipientAnswered(id: "1", .accepting, isRefused: false, at: now).isEmpty)
    }

    @Test("B51: where the server does not tell, a letter that came before its postbox was made is sent once more")
    func sentEarly() throws {
        var delivery = try opened(letter, tellsOfRecipients: false)
        let again = delivery.recipientAnswered(id: "1", .accepting, isRefused: false, at: now)
        #expect(again == [.tell(PublishNews(id: "1", state: .queued)), .wake(at: now + .milliseconds(250))])
        let question = Delivery.Action.askRecipient(id: "1", user: "bob", postbox: "work", isRefused: false)
        #expect(delivery.moment(at: now + .milliseconds(250)) == [.send(message("1", letter)), question])
        #expect(delivery.recipientAnswered(id: "1", .accepting, isRefused: false, at: now).isEmpty)
        #expect(delivery.answered([acknowledged("1", 2)], at: now).count == 1)
        // The first time it was sent, nobody answered.
        #expect(delivery.answered([("1", .failure(.timeout("")))], at: now).isEmpty)
    }

    @Test("B30, B39: a message whose answer was lost long ago is never sent a second time in silence")
    func late() throws {
        for (finding, expected) in [
            (Delivery.Finding.stored(sequence: 9), ended("1", .acknowledged(sequence: 9, isDuplicate: true))),
            (.absent, .send(message("1"))), (.unknown, ended("1", .uncertain)),
            (.failed, .tell(PublishNews(id: "1", state: .queued))),
        ] {
            var delivery = try opened()
            _ = delivery.connectionLost()
            let later = now + .seconds(600)
            #expect(
                delivery.opened(tellsOfRecipients: true, at: later)
                    == [.lookUp(.init(message: message("1"), newestBefore: nil), topic: "t")])
            #expect(delivery.lookedUp(id: "1", finding, at: later).first == expected)
        }
        // A letter cannot be looked for, and those behind it go on.
        var delivery = try opened(letter)
        _ = try delivery.submit(message("2", letter), at: now)
        _ = delivery.connectionLost()
        #expect(
            delivery.opened(tellsOfRecipients: true, at: now + .seconds(600))
                == [ended("1", .uncertain), .send(message("2", letter))])
    }

    @Test("B30: what an earlier run may have sent is looked for before it is sent the first time")
    func repetition() throws {
        for (finding, expected) in [
            (Delivery.Finding.stored(sequence: 9), ended("1", .acknowledged(sequence: 9, isDuplicate: true))),
            (.absent, nil), (.unknown, nil), (.failed, .tell(PublishNews(id: "1", state: .queued))),
        ] {
            var delivery = Delivery()
            _ = delivery.opened(tellsOfRecipients: true, at: now)
            let repeated = OutboxMessage(id: "1", destination: .topic("t"), payload: [1], mayBeStored: true)
            let search = Delivery.Action.lookUp(.init(message: repeated, newestBefore: nil), topic: "t")
            #expect(try delivery.submit(repeated, at: now) == [search])
            #expect(delivery.lookedUp(id: "1", finding, at: now).first == expected ?? .send(repeated))
            // A search that failed is made again.
            if finding == .failed { #expect(delivery.moment(at: now + .milliseconds(250)).first == search) }
            guard expected == nil else { continue }
            // What this run has sent is sent again as it is, and later its own search decides.
            _ = delivery.connectionLost()
            #expect(delivery.opened(tellsOfRecipients: true, at: now + .seconds(60)).first == .send(repeated))
            _ = delivery.connectionLost()
            #expect(delivery.opened(tellsOfRecipients: true, at: now + .seconds(600)).first == search)
            #expect(delivery.lookedUp(id: "1", .unknown, at: now + .seconds(600)) == [ended("1", .uncertain)])
        }
    }

    @Test("B30: what an earlier run may have sent is looked for anywhere, not behind what this run has sent")
    func repetitionBehindOthers() throws {
        var delivery = try opened()
        _ = delivery.answered([acknowledged("1", 900)], at: now)
        let repeated = OutboxMessage(id: "2", destination: .topic("t"), payload: [1], mayBeStored: true)
        #expect(
            try delivery.submit(repeated, at: now)
                == [.lookUp(.init(message: repeated, newestBefore: nil), topic: "t")])
    }

    @Test("B30, B32: what an earlier run left goes in front of what waits; what has no room is told")
    func restored() throws {
        var delivery = Delivery(policy: OutboxPolicy(maximumMessages: 3))
        for id in ["3", "1"] { _ = try delivery.submit(message(id), at: now) }
        let told = ["1", "2", "4"].map { Delivery.Action.tell(PublishNews(id: $0, state: .queued)) }
        #expect(
            delivery.restore([message("1"), message("2"), message("4")]) == [ended("3", .failed(.outboxFull))] + told)
        #expect(delivery.messages.map(\.id) == ["1", "2", "4"])
        #expect(delivery.restore([]).isEmpty)
    }

    @Test("B30: a message that a cluster knows and has not stored yet is sent again, and nothing overtakes it")
    func knownAndNotStored() throws {
        var delivery = try opened()
        _ = try delivery.submit(message("2"), at: now)
        let known = PublishAcknowledgement(stream: "S", sequence: 0, isDuplicate: true)
        let actions = delivery.answered([("1", .success(known))], at: now)
        #expect(
            actions == [
                .tell(PublishNews(id: "1", state: .queued)), .wake(at: now + .milliseconds(250)),
            ])
        let later = now + .milliseconds(250)
        #expect(delivery.moment(at: later) == [.send(message("1"))])
        #expect(
            delivery.answered([acknowledged("1", 4)], at: later)
                == [ended("1", .acknowledged(sequence: 4)), .send(message("2"))])
    }

    @Test("B13: a message that is refused in passing does not hold up the reconnection")
    func refusedWhileFlushing() throws {
        var delivery = try opened()
        #expect(!delivery.isFlushed)
        let refusal = NATSError.jetStream(JetStreamFailure(code: 503, errorCode: 10_008, text: "no quorum"))
        _ = delivery.answered([("1", .failure(refusal))], at: now)
        #expect(delivery.isFlushed)
        _ = delivery.moment(at: now + .milliseconds(250))
        _ = delivery.answered([acknowledged("1", 2)], at: now + .milliseconds(260))
        #expect(delivery.isFlushed && delivery.isEmpty)
    }

    @Test("MESSAGE_RESEND lists what waited on topics, and what of it was stored")
    func resent() throws {
        var delivery = try opened()
        _ = try delivery.submit(message("2", letter), at: now)
        _ = delivery.connectionLost()
        _ = delivery.opened(tellsOfRecipients: true, at: now)
        _ = delivery.answered([acknowledged("1", 3)], at: now)
        let list = delivery.takeResent()
        #expect(list.map(\.id) == ["1"] && list.map(\.topic) == ["t"] && list.map(\.wasStored) == [true])
        #expect(delivery.takeResent().isEmpty)
    }

    @Test("B30: while a cluster has no quorum, lines wait as long as it takes, and in order")
    func noQuorum() throws {
        var delivery = try opened()
        _ = try delivery.submit(message("2"), at: now)
        var moment = now
        let refusal = NATSError.jetStream(JetStreamFailure(code: 503, errorCode: 10_008, text: "no quorum"))
        for _ in 0..<600 {
            var actions = delivery.answered([("1", .failure(refusal))], at: moment)
            #expect(actions.removeFirst() == .tell(PublishNews(id: "1", state: .queued)))
            guard case .wake(let next)? = actions.first, actions.count == 1 else {
                Issue.record("\(actions)")
                return
            }
            #expect(next > moment && next <= moment + .seconds(2))
            moment = next
            let again = delivery.moment(at: moment)
            guard moment - now < OutboxPolicy.parley.duplicateWindow else {
                #expect(again == [.lookUp(.init(message: message("1"), newestBefore: nil), topic: "t")])
                #expect(delivery.lookedUp(id: "1", .absent, at: moment) == [.send(message("1"))])
                return
            }
            #expect(again == [.send(message("1"))])
        }
    }
}
