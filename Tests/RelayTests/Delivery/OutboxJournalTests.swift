import Testing

@testable import Relay

/// What is written of the outbox, and when.
@Suite struct OutboxJournalTests {
    private let since = Timestamp(milliseconds: 5)

    private func message(_ id: String) -> OutboxMessage { OutboxMessage(id: id, topic: "t", payload: [1]) }

    private func row(_ id: String, _ state: KeptPublish.State = .queued) -> StoreChange {
        .outbox(KeptPublish(message: message(id), state: state, since: since, run: "run"))
    }

    private func end(_ id: String, _ state: PublishNews.State) -> PublishNews { PublishNews(id: id, state: state) }

    @Test("B30: before the outbox opens, what was written as never sent counts as sent, once")
    func leaving() {
        var journal = OutboxJournal(run: "run")
        _ = journal.leave()
        #expect(journal.isEmpty)
        journal.accepted(message("1"), mayLeave: false, since: since)
        _ = journal.take()
        #expect(journal.written() == false)
        _ = journal.leave()
        #expect(journal.take() == [.outboxLeaves(run: "run")])
        #expect(journal.written() == false)
        _ = journal.leave()
        #expect(journal.isEmpty)
    }

    @Test("B30: what an ended run left as never sent counts as sent before it leaves")
    func leavingTakenOver() {
        var journal = OutboxJournal(run: "run")
        journal.accepted(message("1"), mayLeave: false, since: since)
        journal.tookOver([KeptPublish(message: message("1"), since: since)])
        // The row that is there keeps its place.
        #expect(journal.isEmpty)
        _ = journal.leave()
        #expect(journal.take() == [.outboxLeaves(run: "run")])
    }

    @Test("B32: what was stored or taken back is forgotten, and all else waits for the person with its reason")
    func endings() {
        let failure = RelayError.server(code: 503, "no stream")
        for (outcome, change) in [
            (PublishNews.State.acknowledged(sequence: 1), StoreChange.outboxStored(id: "1")),
            (.failed(.cancelled), .outboxEnded(id: "1")),
            (.failed(failure), .outboxNotSent(id: "1", failure.words, mayBeStored: false)),
            (
                .discarded(.windowExpired),
                .outboxNotSent(id: "1", ConnectionReason.windowExpired.words, mayBeStored: false)
            ),
            (.uncertain, .outboxNotSent(id: "1", RelayError.uncertain("1").words, mayBeStored: true)),
        ] {
            var journal = OutboxJournal(run: "run")
            _ = journal.ended(end("1", outcome))
            let changes = journal.take()
            #expect(changes.first == change)
            let ends: [StoreChange] = [.outboxEnded(id: "1"), .outboxStored(id: "1")]
            #expect(changes.contains(.outboxTrimmed) == !ends.contains(change))
        }
    }

    @Test("What ends while the disk takes nothing is not written as accepted any more")
    func trouble() {
        var journal = OutboxJournal(run: "run")
        journal.accepted(message("1"), mayLeave: false, since: since)
        journal.accepted(message("2"), mayLeave: false, since: since)
        journal.accepted(message("3"), mayLeave: false, since: since)
        _ = journal.take()
        // While it is being written.
        _ = journal.ended(end("1", .acknowledged(sequence: 1)))
        _ = journal.ended(end("2", .discarded(.windowExpired)))
        journal.failed()
        #expect(journal.isInTrouble && journal.pause == .seconds(1))
        journal.failed()
        #expect(journal.pause == .seconds(2))
        let changes = journal.take()
        #expect(changes.prefix(4) == [.outboxEnded(id: "2"), row("2"), .outboxEnded(id: "3"), row("3")])
        let reason = ConnectionReason.windowExpired.words
        #expect(
            Set(changes.dropFirst(4)) == [
                .outboxStored(id: "1"), .outboxNotSent(id: "2", reason, mayBeStored: false), .outboxTrimmed,
            ])
        #expect(journal.written() == true)
        #expect(!journal.isInTrouble && journal.isEmpty)
    }

    @Test("B30: what was being written as never sent when the outbox opened counts as sent, written or not")
    func leavingWhileWriting() {
        for isWritten in [true, false] {
            var journal = OutboxJournal(run: "run")
            journal.accepted(message("1"), mayLeave: false, since: since)
            #expect(journal.take() == [.outboxEnded(id: "1"), row("1")])
            #expect(journal.leave() && journal.awaitsLeave)
            if isWritten { _ = journal.written() } else { journal.failed() }
            let again = isWritten ? [] : [StoreChange.outboxEnded(id: "1"), row("1", .sending)]
            #expect(journal.take() == [.outboxLeaves(run: "run")] + again)
        }
    }
}
