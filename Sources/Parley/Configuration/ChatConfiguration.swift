/// The configuration of a running chat, and where it came from, so that it can be read again.
struct ChatConfiguration: Hashable, Sendable {
    /// What the chat goes by.
    let settings: ChatSettings
    /// What its profile says of the connection too. That counts from the next start on.
    let profile: Profile
    /// The file.
    let path: String
    private let flag: String?
    private let profileName: String?
    private let environment: [String: String]

    /// Reads the file that the flag, else the environment, else the standard place names.
    ///
    /// - Parameters:
    ///   - flag: `--config`.
    ///   - profile: the profile's name; nil for `default`.
    init(flag: String?, profile name: String?, _ environment: [String: String]) throws(CommandFailure) {
        let source = try ConfigurationSource(flag: flag, environment)
        try self.init(source, flag: flag, profile: name, environment)
    }

    /// Takes what was read already; the flag and the environment say where it can be read again.
    init(
        _ source: ConfigurationSource, flag: String?, profile name: String?, _ environment: [String: String]
    ) throws(CommandFailure) {
        profile = try source.file.profile(name)
        settings = ChatSettings(source.file, profile)
        path = source.path
        self.flag = flag
        profileName = name
        self.environment = environment
    }

    /// What the same file says now.
    func reloaded() -> Result<ChatConfiguration, CommandFailure> {
        do throws(CommandFailure) {
            return .success(try ChatConfiguration(flag: flag, profile: profileName, environment))
        } catch {
            return .failure(error)
        }
    }
}

/// What a changed configuration file leads to in a running chat: the last one that was well stays in force.
struct ConfigurationFollower {
    private var current: ChatConfiguration
    /// What was wrong with the file when it was read last.
    private var complaint: String?

    init(_ configuration: ChatConfiguration) { current = configuration }

    /// Takes in what the file says now.
    ///
    /// - Returns: nil where that is nothing new.
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
            // The bottom line has little room, and there is one such file.
            let name = current.path.split(separator: "/").last.map(String.init) ?? current.path
            let isPlaced = failure.text.hasPrefix(current.path)
            return .refused(isPlaced ? name + failure.text.dropFirst(current.path.count) : failure.text)
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
