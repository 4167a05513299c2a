import Platform

/// The limit on the process's open files and sockets. The network library ends a process that runs out of them.
enum OpenFileLimit {
    private static let usual: rlim_t = 1_024

    /// Raises the limit to the usual one if allowed; returns why the process still cannot run, or nil if it can.
    static func mistake() -> String? {
        raise()
        // Three per thread of the network library, plus those of the local store, the connection and the terminal.
        let needed = 32 + 3 * max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        let free = available(upTo: needed)
        guard free < needed else { return nil }
        return
            "The system lets this process open \(free) more files, and \(needed) are needed. Raise the limit: ulimit -n \(usual)."
    }

    private static func raise() {
        #if canImport(Glibc)
            let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
            let kind = RLIMIT_NOFILE
        #endif
        var limit = rlimit()
        guard getrlimit(kind, &limit) == 0, limit.rlim_cur < usual, limit.rlim_cur < limit.rlim_max else { return }
        limit.rlim_cur = min(usual, limit.rlim_max)
        _ = setrlimit(kind, &limit)
    }

    /// The number of files that can still be opened, found by opening them, since the system's own limit counts too.
    private static func available(upTo count: Int) -> Int {
        var opened: [Int32] = []
        while opened.count < count {
            #if canImport(Glibc)
                let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
            #else
                let descriptor = socket(AF_UNIX, SOCK_STREAM, 0)
            #endif
            guard descriptor >= 0 else { break }
            opened.append(descriptor)
        }
        for descriptor in opened { close(descriptor) }
        return opened.count
    }
}
