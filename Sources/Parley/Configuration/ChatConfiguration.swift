/// The configuration of a running chat, and where it came from, so that it can be read again.
struct ChatConfiguration: Hashable, Sendable {
    let settings: ChatSettings
    /// The profile, whose settings of the connection count from the next start on.
    let profile: Profile
    /// The path of the file.
    let path: String
    private let flag: String?
    private let profileName: String?
    private let environment: [String: String]

    /// Reads the file that the flag, else the environment, else the standard place names, where that was not done yet.
    init(
        flag: String?, profile name: String?, _ environment: [String: String], _ source: ConfigurationSource? = nil
    ) throws(CommandFailure) {
        let source = if let source { source } else { try ConfigurationSource(flag: flag, environment) }
        profile = try source.file.profile(name)
        settings = ChatSettings(source.file, profile)
        path = source.path
        self.flag = flag
        profileName = name
        self.environment = environment
    }

    /// What the same file says now.
    func reloaded() -> Result<ChatConfiguration, CommandFailure> {
        Result { () throws(CommandFailure) in
            try ChatConfiguration(flag: flag, profile: profileName, environment)
        }
    }
}

/// What a changed configuration file leads to in a running chat: the last valid one stays in force.
struct ConfigurationFollower {
    private var current: ChatConfiguration
    /// What was wrong with the file when it was read last.
    private var complaint: String?

    init(_ configuration: ChatConfiguration) { current = configuration }

    /// Takes in what the file says now; nil where that is nothing new.
    mutating func take(_ result: Result<ChatConfiguration, CommandFailure>) -> ChatEvent.ConfigurationNews? {
        switch result {
        case .success(let new):
            let (old, wasWrong) = (current, complaint != nil)
            current = new
            complaint = nil
            if new.settings != old.settings { return .changed(new.settings) }
            if new.profile != old.profile { return .forNextStart }
            return wasWrong ? .mended : nil
        case .failure(let failure):
            guard failure.text != complaint else { return nil }
            complaint = failure.text
            guard failure.text.hasPrefix(current.path) else { return .refused(failure.text) }
            // The bottom line has little room, and there is one such file.
            let name = current.path.split(separator: "/").last.map(String.init) ?? current.path
            return .refused(name + failure.text.dropFirst(current.path.count))
        }
    }

    /// Follows the file until the task is cancelled.
    static func follow(_ configuration: ChatConfiguration, _ queue: EventQueue) async {
        let (changes, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        guard let watch = FileWatch(configuration.path, changed: { continuation.yield() }) else {
            return await queue.send(
                .log("The system does not watch the configuration file; changes count from the next start on."))
        }
        defer { watch.close() }
        // It may have changed between the start and now.
        continuation.yield()
        var follower = ConfigurationFollower(configuration)
        for await _ in changes {
            let result = await blocking { configuration.reloaded() }
            if let news = follower.take(result) { await queue.send(.configuration(news)) }
        }
    }
}
