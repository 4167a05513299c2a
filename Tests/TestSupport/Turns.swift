import NIOCore
import NIOPosix

/// Returns when whatever was ready has had a turn: tasks, and what the event loops have read or are to do.
///
/// What a client and a server in memory say to each other takes some turns and no time, however long the machine takes
/// for one.
public func giveEverythingATurn() async throws {
    await Task.detached {}.value
    let loops = Array(NIOSingletons.posixEventLoopGroup.makeIterator())
    guard let first = loops.first else { return }
    let turns: [EventLoopFuture<Void>] = loops.map { loop in loop.submit {} }
    try await EventLoopFuture<Void>.andAllComplete(turns, on: first).get()
}
