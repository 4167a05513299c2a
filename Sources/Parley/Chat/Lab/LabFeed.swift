import NIOConcurrencyHelpers
import Relay
import RelayLab

actor LabFeed {
    enum Request: Equatable, Sendable {
        /// Route the connection through the lab's proxy and begin a rehearsal, answered by a `lab` event.
        case open
        /// Carry out acts, one at a time.
        case perform([LabDeed])
        /// Start or stop reporting progress about once a second.
        case watch(Bool)
        case save(path: String)
        /// End it: restore everything, and connect directly to the server again.
        case end
    }

    private let core: FeedCore
    private let topics: TopicsFeed
    private var lab: ChatLab?
    /// The last lab that ended, whose recording can still be saved.
    private var ended: ChatLab?
    /// The user's current background policy.
    let policy: NIOLockedValueBox<LifecyclePolicy>
    /// Separate from the chat's, since the end of the chat waits for these.
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
            // The screen asks for reports itself while it shows the lab.
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

    /// Leaves the network as it was found, as the chat ends.
    func leave() async {
        // An act in progress can be undone only once it is done, but the program's end must not wait any longer.
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
