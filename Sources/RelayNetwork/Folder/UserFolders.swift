import Platform

/// The account that the program runs as, according to the system's user database.
package struct UserAccount: Hashable, Sendable {
    package let name: String?
    package let home: String?

    package static func current() -> UserAccount? {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        // Long enough for any system: names may come from a directory service.
        var texts = [CChar](repeating: 0, count: 64 << 10)
        guard getpwuid_r(geteuid(), &entry, &texts, texts.count, &found) == 0, let found else { return nil }
        return UserAccount(
            name: found.pointee.pw_name.map { String(cString: $0) },
            home: found.pointee.pw_dir.map { String(cString: $0) })
    }
}

/// The user's folders: those that the environment names, else those below the home folder. A service often has no
/// `HOME`, but the user database knows it.
package enum UserFolders: String, CaseIterable, Sendable {
    /// Data of programs.
    case data = "XDG_DATA_HOME"
    /// Settings.
    case configuration = "XDG_CONFIG_HOME"
    /// Logs and other traces of programs' runs.
    case state = "XDG_STATE_HOME"

    private var belowHome: String {
        switch self {
        case .data: "/.local/share"
        case .configuration: "/.config"
        case .state: "/.local/state"
        }
    }

    /// Nil if neither the environment nor the user database names one.
    package func path(_ environment: [String: String], account: () -> UserAccount? = UserAccount.current) -> String? {
        Self.absolute(environment[rawValue]) ?? Self.home(environment, account: account).map { $0 + belowHome }
    }

    package static func home(
        _ environment: [String: String], account: () -> UserAccount? = UserAccount.current
    ) -> String? {
        absolute(environment["HOME"]) ?? absolute(account()?.home)
    }

    /// Expands a leading `~/`.
    package static func expanded(_ path: String, _ environment: [String: String]) -> String {
        guard path.hasPrefix("~/"), let home = home(environment) else { return path }
        return home + path.dropFirst()
    }

    /// Why the environment's folders cannot be used, in a sentence; nil if they can.
    package static func mistake(
        in environment: [String: String], account: () -> UserAccount? = UserAccount.current
    ) -> String? {
        for name in ["HOME"] + allCases.map(\.rawValue) {
            guard let path = environment[name], !path.isEmpty, !path.hasPrefix("/") else { continue }
            return "\(name) is “\(path)”, which is not a full path. Set one that begins with /, or unset it."
        }
        guard allCases.contains(where: { $0.path(environment, account: account) == nil }) else { return nil }
        return "There is no home folder: HOME is not set, and this account has none. Set HOME to a folder of yours."
    }

    private static func absolute(_ path: String?) -> String? {
        guard var path, path.hasPrefix("/") else { return nil }
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        return path == "/" ? "" : path
    }
}
