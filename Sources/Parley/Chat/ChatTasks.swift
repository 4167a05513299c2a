/// The tasks that the feeds of a chat begin. They are over when ``run()`` returns, which cancels what is left of them.
struct ChatTasks: Sendable {
    private let begun: AsyncStream<Task<Void, Never>>
    private let intake: AsyncStream<Task<Void, Never>>.Continuation

    init() { (begun, intake) = AsyncStream.makeStream(of: Task<Void, Never>.self) }

    /// Begins a task. It can be cancelled before the others are.
    @discardableResult
    func begin(_ work: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        let task = Task(operation: work)
        if case .terminated = intake.yield(task) { task.cancel() }
        return task
    }

    /// Waits for what is begun, until ``end()`` or its own task's end: what is not over by then is cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            for await task in begun {
                group.addTask {
                    await withTaskCancellationHandler {
                        await task.value
                    } onCancel: {
                        task.cancel()
                    }
                }
            }
            group.cancelAll()
        }
    }

    /// Cancels everything. What is begun from now on is cancelled at once.
    func end() { intake.finish() }
}

/// Does one thing after the other, in the order in which they come.
struct SerialTasks: Sendable {
    private let intake: AsyncStream<@Sendable () async -> Void>.Continuation
    private let queue: EventQueue

    init(_ tasks: ChatTasks, _ queue: EventQueue) {
        self.queue = queue
        let (works, intake) = AsyncStream.makeStream(
            of: (@Sendable () async -> Void).self, bufferingPolicy: .bufferingOldest(EngineRun.limit))
        self.intake = intake
        tasks.begin { for await work in works { await work() } }
    }

    /// Adds something behind what was added before. Where the tasks end first, it is not begun; where too much waits,
    /// that is told.
    func add(_ work: @escaping @Sendable () async -> Void) {
        let added = intake.yield { if !Task.isCancelled { await work() } }
        if case .dropped = added { _ = queue.offer(.notice(EngineRun.tooMuch, isFailure: true)) }
    }

    /// Returns when everything is done that was added before, or is not to be begun any more.
    func finished() async {
        await withCheckedContinuation { done in
            if case .enqueued = intake.yield({ done.resume() }) { return }
            done.resume()
        }
    }
}
