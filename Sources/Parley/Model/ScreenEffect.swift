import Relay
import Terminal

/// What the screen's thread does with the terminal and with its own process.
enum ScreenEffect: Equatable, Sendable {
    case suspendProcess
    case quit
    /// Paint the whole screen again.
    case redraw
    case bell
    /// Notify the person, who looks elsewhere; `notified` tells of a test by what that was done.
    case notify(TerminalNotification, isTest: Bool = false)
    /// Have the person write on at a text in their editor; `edited` tells what became of it.
    case edit(String)
    /// Give a text to the terminal's clipboard.
    case copy(String)
    /// Already free of controls.
    case setTitle(String)
    /// Bring another chat of the window in front, by its place.
    case showChat(Int, ChatDestination)
    /// Look for the same in what the other networks of the window have.
    case searchElsewhere(request: UInt64, SearchQuery, limit: Int)
    /// Open the chat of another profile beside this one, or bring it in front.
    case openChat(profile: String)
}
