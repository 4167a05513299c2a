import Platform

/// What the wrappers of system calls share.
enum SystemCall {
    /// The system's description of an errno.
    static func reason(_ code: Int32) -> String {
        strerror(code).map { String(cString: $0) } ?? "error \(code)"
    }

    /// Repeats a call as long as a signal interrupts it; the result and its errno.
    static func uninterrupted<R: SignedInteger>(_ call: () -> R) -> (result: R, code: Int32) {
        while true {
            let result = call()
            let code = errno
            if result >= 0 || code != EINTR { return (result, code) }
        }
    }
}
