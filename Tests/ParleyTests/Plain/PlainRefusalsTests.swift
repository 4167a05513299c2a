import Relay
import Testing

@testable import Parley

/// With which status a session without a screen ends.
@Suite("Plain mode's exit status")
struct PlainRefusalsTests {
    private static func published(_ id: String, _ state: PublishNews.State) -> ChatEvent {
        .published(PublishNews(id: id, state: state))
    }

    @Test(
        "A refused message ends the session with the status that parley send gives it",
        arguments: [
            (PublishNews.State.failed(.notAuthorized("publishing to ops")), CommandStatus.refused),
            (.failed(.tooLarge(bytes: 2, limit: 1)), CommandStatus.badData),
            (.failed(.server(code: 503, "no stream stores ops")), CommandStatus.noConnection),
            (.failed(.server(code: 10_077, "maximum messages exceeded")), CommandStatus.noConnection),
            (.failed(.postboxNotAccepting("nobody/personal", because: .unknownUser)), CommandStatus.badData),
            (.failed(.postboxNotAccepting("bob/personal", because: .full)), CommandStatus.noConnection),
            (.discarded(.windowExpired), CommandStatus.noConnection), (.uncertain, CommandStatus.notAcknowledged),
        ])
    func codes(_ state: PublishNews.State, _ code: CommandStatus) {
        var refusals = PlainRefusals()
        refusals.note(Self.published("1", .sending), [], failure: nil)
        #expect(refusals.failure == nil)
        refusals.note(Self.published("1", state), [], failure: "told by the letter's own words")
        #expect(refusals.failure?.code == code)
        #expect(refusals.failure?.text.hasPrefix("1 message not sent. ") == true)
    }

    @Test("What is sent again, dropped or taken back no longer counts, and of the others the first says why")
    func mended() {
        var refusals = PlainRefusals()
        for id in ["1", "2", "3", "4"] {
            refusals.note(Self.published(id, .failed(.tooLarge(bytes: 2, limit: 1))), [], failure: nil)
        }
        refusals.note(.line("/resend 1"), [.topics(.sendAgain(id: "1", topic: "t", text: "x"))], failure: nil)
        refusals.note(.line("/discard 2"), [.topics(.drop(ids: ["2"]))], failure: nil)
        // A letter that failed is dropped as well, and that is no wish of the person's.
        refusals.note(Self.published("3", .failed(.notAuthorized("x"))), [.topics(.drop(ids: ["3"]))], failure: nil)
        refusals.note(Self.published("4", .failed(.cancelled)), [], failure: nil)
        #expect(refusals.failure?.code == .refused)
        refusals.note(Self.published("3", .acknowledged(sequence: 1)), [], failure: nil)
        #expect(refusals.failure == nil)
    }

    @Test("A line that cannot be carried out is bad data")
    func commands() {
        var refusals = PlainRefusals()
        refusals.note(.line("/read 9"), [], failure: "The list has 2 letters.")
        refusals.note(.tick(Desk.joined("a").model.now), [], failure: "of another cause")
        refusals.note(.line("/psot bob hi"), [], failure: "There is no command /psot.")
        #expect(refusals.failure?.code == .badData)
        #expect(refusals.failure?.text == "2 lines could not be carried out. The list has 2 letters.")
        refusals.lineDropped("Line 3 of the input is too long.")
        #expect(refusals.failure?.text == "3 lines could not be carried out. The list has 2 letters.")
        // A message that was not sent says more.
        refusals.note(Self.published("1", .failed(.notAuthorized("x"))), [], failure: nil)
        #expect(refusals.failure?.code == .refused)
    }
}
