/// The configuration of a running chat, with its source, so that it can be reloaded.
struct ChatConfiguration: Hashable, Sendable {
    let settings: ChatSettings
    /// The profile, whose connection settings take effect at the next start.
    let profile: Profile
    let path: String
    private let flag: String?
    private let profileName: String?
    private let environment: [String: String]

    /// Reads the file named by the flag, or else the environment, or else the default path, unless `source` is given.
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

    func reloaded() -> Result<ChatConfiguration, CommandFailure> {
        Result { () throws(CommandFailure) in
            try ChatConfiguration(flag: flag, profile: profileName, environment)
        }
    }
}

/// Applies changes of the configuration file to a running chat; the last valid one stays in force.
struct ConfigurationFollower {
    private var current: ChatConfiguration
    /// What was wrong with the file when it was last read.
    private var complaint: String?

    init(_ configuration: ChatConfiguration) { current = configuration }

    /// Takes in the reloaded file; returns nil if nothing has changed.
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
            // The bottom line has little room, so the folder is left out.
            let name = current.path.split(separator: "/").last.map(String.init) ?? current.path
            return .refused(name + failure.text.dropFirst(current.path.count))
        }
    }

    static func follow(_ configuration: ChatConfiguration, _ queue: EventQueue) async {
        let (changes, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        guard let watch = FileWatch(configuration.path, changed: { continuation.yield() }) else {
            return await queue.send(
                .log("The system does not watch the configuration file; changes take effect at the next start."))
        }
        defer { watch.close() }
        // The file may have changed since the start.
        continuation.yield()
        var follower = ConfigurationFollower(configuration)
        for await _ in changes {
            let result = await blocking { configuration.reloaded() }
            if let news = follower.take(result) { await queue.send(.configuration(news)) }
        }
    }
}
