/// The tasks that a chat's feeds start. ``run()`` cancels those left and returns when all have ended.
struct ChatTasks: Sendable {
    private let begun: AsyncStream<Task<Void, Never>>
    private let intake: AsyncStream<Task<Void, Never>>.Continuation

    init() { (begun, intake) = AsyncStream.makeStream(of: Task<Void, Never>.self) }

    @discardableResult
    func begin(_ work: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        let task = Task(operation: work)
        if case .terminated = intake.yield(task) { task.cancel() }
        return task
    }

    /// Waits for the tasks until ``end()`` is called or its own task is cancelled, then cancels those still running.
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

    /// Cancels all tasks, including any begun later.
    func end() { intake.finish() }
}

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

    /// Adds work to the end of the queue. It does not begin if the tasks end first; if the queue is full, the user is
    /// told.
    func add(_ work: @escaping @Sendable () async -> Void) {
        let added = intake.yield { if !Task.isCancelled { await work() } }
        if case .dropped = added { _ = queue.offer(.notice(EngineRun.tooMuch, isFailure: true)) }
    }

    /// Returns when all work added before is done, or will no longer begin.
    func finished() async {
        await withCheckedContinuation { done in
            if case .enqueued = intake.yield({ done.resume() }) { return }
            done.resume()
        }
    }
}
