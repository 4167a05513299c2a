import Relay
import Terminal

struct ChatPlan: Sendable {
    /// The network's name in a window with several.
    var name: String
    /// The network's profile; nil if only flags describe it.
    var profile: String?
    var connection: ConnectionPlan
    var suspension: Suspension
    /// The topics to join besides those joined before.
    var topics: [String]
    var configuration: ChatConfiguration
}

/// The interactive client: the terminal, an engine for each network, and the loop between them.
enum ChatSession {
    /// Runs the client until the user leaves. The screen is up and takes keys before any file of the network is read
    /// or made, and before it connects.
    ///
    /// - Parameters:
    ///   - plans: the chats of the window; the first one is in front.
    ///   - planning: makes the plan of another profile.
    /// - Throws: an error if the screen or the first network's files cannot be used, with the terminal restored.
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
            // Another program may hold the network's files; keys and signals still work meanwhile.
            if let prepared = loop.run(until: { preparation.result }) {
                main.start(try prepared.get(), first.configuration)
            }
            loop.run()
        } catch { failure = error }
        terminal.close(endsProcess: failure == nil)
        // Other networks may have started even if the first one failed.
        EngineRun.end(loop.chats.map(\.run))
        log?.end()
        // After a signal the process ends by that signal, even if the loop was over before it saw the signal.
        if let signal = loop.endingSignal ?? terminal.pendingSignal { TerminalSession.endProcess(by: signal) }
        if failure == nil, loop.chats.count == 1 { failure = loop.model.connectionGivenUp }
        if let failure { throw failure }
    }
}

/// Makes the chats of a window. Confined to the screen's thread.
private struct Engines {
    let terminal: TerminalSession

    func newRun() -> EngineRun { EngineRun(queue: EventQueue { [waker = terminal.waker] in waker.wake() }) }

    /// Prepares a chat's connection on another thread.
    func prepare(_ plan: ChatPlan) -> Preparation<Connector> {
        let (waker, connection, policy) = (terminal.waker, plan.connection, plan.suspension.policy)
        return Preparation(wake: { waker.wake() }) { try Connector(connection, for: .chat(policy)) }
    }

    /// A chat that connects automatically.
    func chat(_ plan: ChatPlan) -> WindowChat {
        let run = newRun()
        let preparation = prepare(plan)
        return chat(plan, run) {
            guard let prepared = preparation.result else { return false }
            run.start(try prepared.get(), plan.configuration)
            return true
        }
    }

    func chat(_ plan: ChatPlan, _ run: EngineRun, connect: (() throws -> Bool)? = nil) -> WindowChat {
        let model = ChatModel(
            identity: plan.connection.identity, size: terminal.size, now: .now, status: .initialized,
            origin: RelayClient.newID())
        model.configure(plan.configuration.settings)
        model.attention.suspension.time = plan.suspension.policy.grace
        model.attention.isWatched = plan.connection.watchesLifecycle
        // The topics joined before are known once the store is open.
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
