import NIOConcurrencyHelpers
import Relay
import RelayLab

/// The lab of the chat, while the connection goes through it.
actor LabFeed {
    enum Request: Equatable, Sendable {
        /// Put the connection behind the lab's proxy and begin a rehearsal; `lab` tells what becomes of it.
        case open
        /// Do something in it, one after the other.
        case perform([LabDeed])
        /// Tell how it goes about once a second, or no more.
        case watch(Bool)
        /// Write what was done into a file, as a scenario.
        case save(path: String)
        /// End it: everything is restored, and the connection goes to the server itself again.
        case end
    }

    private let core: FeedCore
    private let topics: TopicsFeed
    private var lab: ChatLab?
    /// The one that ended last, of which what was done can still be saved.
    private var ended: ChatLab?
    /// What becomes of the connection while the person is away, as it was said last.
    let policy: NIOLockedValueBox<LifecyclePolicy>
    /// Its own, since what was begun here is waited for when the chat ends.
    let tasks = ChatTasks()
    private let inOrder: SerialTasks

    init(_ core: FeedCore, _ topics: TopicsFeed) {
        (self.core, self.topics) = (core, topics)
        policy = NIOLockedValueBox(core.connector.configuration.lifecycle)
        inOrder = SerialTasks(tasks, core.queue)
    }

    func perform(_ request: Request) async {
        switch request {
        case .open: inOrder.add { await self.open() }
        case .perform(let deeds): inOrder.add { await self.perform(deeds) }
        case .watch(let isWatched): await lab?.watch(isWatched)
        case .save(let path): await save(path)
        case .end: inOrder.add { await self.end() }
        }
    }

    private func open() async {
        guard lab == nil else { return }
        do {
            let lab = try await ChatLab(core, topics, policy: policy)
            self.lab = lab
            // The screen asks for news where it shows the lab.
            await core.send(.lab(.opened(lab.hindrances)))
        } catch {
            await core.send(.lab(.failed(error: "\(error)")))
        }
    }

    private func perform(_ deeds: [LabDeed]) async {
        for deed in deeds {
            do { try await lab?.perform(deed) } catch {
                return await core.send(.lab(.refused(deed.act.name, error: "\(error)")))
            }
        }
    }

    private func end() async {
        guard let lab else { return }
        let glance = await lab.end()
        (ended, self.lab) = (lab, nil)
        await core.send(.lab(.over(glance)))
    }

    /// The chat ends: the network is left as it was found.
    func leave() async {
        // What an act under way changes can be undone only when it is known to be done; but nobody waits longer for the
        // end of a program.
        _ = await within(.seconds(5)) { [inOrder] in await inOrder.finished() }
        tasks.end()
        guard let lab else { return }
        self.lab = nil
        await lab.leave()
    }

    private func save(_ path: String) async {
        guard let text = await (lab ?? ended)?.scenario() else {
            return await core.send(.postbox(.saving(.failed(LabWords.nothingDone))))
        }
        await core.send(.postbox(.saving(await blocking { LetterFile.save(text, to: path, overwrites: false) })))
    }
}
