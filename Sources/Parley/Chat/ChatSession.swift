import Relay
import Terminal

/// What a chat needs to be opened.
struct ChatPlan: Sendable {
    /// What its network is called beside others.
    var name: String
    /// The profile that says where it is; nil for one by flags alone.
    var profile: String?
    var connection: ConnectionPlan
    var suspension: Suspension
    /// The topics to join, beside those that were joined before.
    var topics: [String]
    var configuration: ChatConfiguration
}

/// The interactive client: the terminal and the engines, one for each network, and the loop between them.
enum ChatSession {
    /// Runs the client until its person leaves. The screen is up, and takes keys, before anything of the network is
    /// read, made or touched.
    ///
    /// - Parameters:
    ///   - plans: the chats of the window; the first one is in front.
    ///   - planning: makes the plan of another profile.
    /// - Throws: what keeps the screen or the first network's own files from being used; the terminal is as it was
    ///   then.
    static func run(_ plans: [ChatPlan], planning: @escaping (String) throws -> ChatPlan) throws {
        guard let first = plans.first else { return }
        let log = ErrorLog()
        let terminal: TerminalSession
        var options = TerminalSession.Options()
        // Without a log the terminal's own capture keeps the screen clean.
        options.capturesStandardError = log == nil
        options.focus = plans.contains(where: \.connection.watchesLifecycle)
        options.terminationGrace = EngineRun.endingSeconds
        options.asksBackground = first.connection.appearance.asksTerminal && options.colors
        do throws(TerminalError) { terminal = try TerminalSession(options: options) } catch {
            log?.end()
            var words = error.description
            if case .notATerminal = error { words += " parley --plain needs none." }
            throw CommandFailure(.badConfiguration, words)
        }
        let engines = Engines(terminal: terminal)
        let main = engines.newRun()
        var loop = ChatLoop(
            terminal, [engines.chat(first, main)] + plans.dropFirst().map { engines.chat($0) },
            appearance: first.connection.appearance, colors: terminal.colorCount,
            clock: { .now }, open: { engines.chat(try planning($0)) })
        loop.begin()
        let preparation = engines.prepare(first)
        var failure: (any Error)?
        do {
            // Another program may hold the network's files: keys count meanwhile, and so does an end.
            if let prepared = loop.run(until: { preparation.result }) {
                main.start(try prepared.get(), first.configuration)
            }
            loop.run()
        } catch { failure = error }
        terminal.close(endsProcess: failure == nil)
        // Those of other networks may have begun where the first one's cannot.
        EngineRun.end(loop.chats.map(\.run))
        log?.end()
        // Where a signal asked for the end, the process ends as by that signal, even if the loop was over before it
        // heard of it.
        if let signal = loop.endingSignal ?? terminal.pendingSignal { TerminalSession.endProcess(by: signal) }
        if failure == nil, loop.chats.count == 1 { failure = loop.model.connectionGivenUp }
        if let failure { throw failure }
    }
}

/// Makes the chats of a window. All on the screen's thread.
private struct Engines {
    let terminal: TerminalSession

    func newRun() -> EngineRun { EngineRun(queue: EventQueue { [waker = terminal.waker] in waker.wake() }) }

    /// Has a chat's way to its network prepared, on another thread.
    func prepare(_ plan: ChatPlan) -> Preparation<Connector> {
        let (waker, connection, policy) = (terminal.waker, plan.connection, plan.suspension.policy)
        return Preparation(wake: { waker.wake() }) { try Connector(connection, for: .chat(policy)) }
    }

    /// A chat that goes to its network by itself.
    func chat(_ plan: ChatPlan) -> WindowChat {
        let run = newRun()
        let preparation = prepare(plan)
        return chat(plan, run) {
            guard let prepared = preparation.result else { return false }
            run.start(try prepared.get(), plan.configuration)
            return true
        }
    }

    /// A chat over an engine.
    func chat(_ plan: ChatPlan, _ run: EngineRun, connect: (() throws -> Bool)? = nil) -> WindowChat {
        let model = ChatModel(
            identity: plan.connection.identity, size: terminal.size, now: .now, status: .initialized,
            origin: RelayClient.newID())
        model.configure(plan.configuration.settings)
        model.attention.suspension.time = plan.suspension.policy.grace
        model.attention.isWatched = plan.connection.watchesLifecycle
        // What was joined before is known when the store is open.
        let keeps = plan.connection.store != nil
        let isNothingNamed = plan.topics.isEmpty && plan.configuration.settings.join.isEmpty && !keeps
        return WindowChat(
            name: plan.name, profile: plan.profile, model: model,
            topics: isNothingNamed ? [ChatModel.firstTopic] : plan.topics, keeps: keeps, run: run, connect: connect)
    }
}

extension Moment {
    static var now: Moment { Moment(instant: .now, wall: WallClock.now) }
}
