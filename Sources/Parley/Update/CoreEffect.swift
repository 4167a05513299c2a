import Relay
import Terminal

/// What `ChatEngine` is asked to do. Answers come back as events; nothing here waits.
enum CoreEffect: Equatable, Sendable {
    // Topics
    /// Subscribe to a topic or pattern.
    case subscribe(topic: String)
    case unsubscribe(topic: String)
    /// Have a topic rest while it is out of view, or follow it again, behind what came last.
    case follow(topic: String, Bool)
    /// Have letters rest while none is in view, or follow them again, behind what came last.
    case followLetters(Bool)
    /// Fetch up to `limit` messages of `topic` that are older than `before`, or the newest ones: from the local store,
    /// and from the network where that has none.
    case loadHistory(topic: String, before: UInt64?, limit: Int)
    /// Hand a line to the core, under the id that every attempt to send it has.
    case publish(id: String, topic: String, text: String)
    /// Hand a line that was not sent to the core once more, under its id.
    case sendAgain(id: String, topic: String, text: String)
    /// Forget lines and letters that were not sent.
    case drop(ids: [String])

    // People
    /// Tell who is in a topic, and in no other one; nil for none.
    case watchPeople(topic: String?)
    /// Let others see this person in these topics, and in no others.
    case appear(in: [String])
    /// What others see there.
    case setPresence(Presence)
    /// Tell others where the person types a line; nil for nowhere any more.
    case typing(topic: String?)

    // The local store
    /// Open the local store and tell what the person was at.
    case openStore
    /// Keep which topics are joined, in their order.
    case keepJoined([String])
    /// Keep a line that was typed.
    case keepLine(KeptLine)
    /// Keep the text being written; an empty one is forgotten. It may take a moment.
    case keepDraft(Draft)
    /// Keep that a name is ignored, or is no more.
    case keepIgnored(String, Bool)
    /// Keep that a topic or pattern is muted, or is no more.
    case keepMuted(String, Bool)
    /// Keep what was chosen about the screen; nil where that is what counts anyhow.
    case keepChoice(DeskChoices.Name, Bool?)
    /// Keep what is in view, to begin there at the next start. It may take a moment.
    case keepPlace(Place)
    /// Keep up to where a conversation was read. It may take a moment.
    case keepReadMark(topic: String, sequence: UInt64)
    /// Look for a portion of what a query means in the local store.
    case search(request: UInt64, SearchQuery, limit: Int)
    /// Read what the local store has of a topic or pattern around a place, up to `limit` messages to each side.
    case readAround(request: UInt64, topic: String, KeptPlace, ExcerptPart.Direction, limit: Int)

    // Postbox
    /// Fetch the person's postboxes, their counts, and subscribe to new letters.
    case openPostbox
    /// Count the letters again; several requests in a short time may be answered by one count.
    case countLetters
    /// Keep that a letter was read. It may take a moment.
    case keepLetterRead(id: String, postbox: String)
    /// Fetch a page of letters, of one postbox or of all.
    case listPage(request: UInt64, postbox: String?, token: String?, limit: Int, order: LetterOrder)
    /// Go through a postbox, or all: fetch a portion of its letters. What it was read from goes on to be read; nil lets
    /// the session choose.
    case readLetters(
        request: UInt64, postbox: String?, token: String?, from: LetterPortion.Source?, order: LetterOrder)
    /// Delete letters, in any number.
    case delete(ids: [String])
    /// Delete no more of them than the network was asked for.
    case stopDeleting
    case postLetter(id: String, user: String, postbox: String, subject: String?, text: String)
    /// Do something with the person's postboxes; `postboxes` tells what became of it.
    case postboxes(PostboxAct)
    /// Tell which letters were sent from here, at most `limit`, the newest.
    case listSent(limit: Int)
    /// Write a letter's text into a file, over one that is there only where the person wants that.
    case saveLetter(text: String, path: String, overwrites: Bool)

    // Keys and values
    /// Carry out a request about keys; `keys` tells what it came to.
    case keyValue(KeyValueRequest)
    /// Hand a change of a key to the core, under the id that every attempt to send it has.
    case changeKey(id: String, KeyValueRequest.Change)

    // Connection
    /// The person is here, or is not.
    case setActive(Bool)
    /// What becomes of the connection while the person is not here.
    case setSuspension(LifecyclePolicy)
    /// Try to connect at once rather than when the wait is over.
    case nudge
    /// See whether the connection still lives: it may have died without a word.
    case probe
    case disconnect
    case reconnect

    // The lab
    /// Put the connection behind the lab's proxy and begin a rehearsal; `lab` tells what becomes of it.
    case openLab
    /// Do something in it, one after the other.
    case labActs([LabDeed])
    /// Tell how it goes about once a second, or no more.
    case watchLab(Bool)
    /// Write what was done into a file, as a scenario.
    case saveLab(path: String)
    /// End it: everything is restored, and the connection goes to the server itself again.
    case endLab

    // Other programs
    /// Notify the person by a line for the shell, too.
    case runNotifier(String, TerminalNotification)
}
