import Relay

// The example of the article "Lifecycle", word for word.

/// Has a client rest while nobody uses its program, and look after its connection when the machine has slept.
func restWhenIdle(_ configuration: inout RelayConfiguration, _ idle: IdleSource) {
    configuration.handleAppLifecycle = true
    configuration.lifecycleSources = { [SleepSource(), idle] }
}

/// Follows a topic for a view, for as long as the task runs.
func follow(
    _ topic: String, for view: AsyncStream<Bool>, on client: RelayClient,
    _ handle: @Sendable (TopicMessage) -> Void
) async throws {
    let messages = try await client.messages(topic: topic, onScreenOnly: true)
    let watch = Task {
        for await isOnScreen in view { messages.setOnScreen(isOnScreen) }
    }
    defer { watch.cancel() }
    for try await event in messages {
        if case .message(let message) = event { handle(message) }
    }
}

/// Stops the process when the connection has been closed, and has it back when the process goes on.
func stop(_ client: RelayClient, _ stopProcess: @Sendable () -> Void) async {
    await client.lifecycleChanged(.stopping)
    stopProcess()
    await client.lifecycleChanged(.foreground)
}
