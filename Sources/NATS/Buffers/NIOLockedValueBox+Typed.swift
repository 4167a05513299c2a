import NIOConcurrencyHelpers

extension NIOLockedValueBox {
    /// As `withLockedValue`, for a body with a typed error.
    ///
    /// This package's locks are SwiftNIO's, built on the system's mutexes: the thread sanitizer understands those and
    /// not the standard library's.
    @inline(__always)
    func withLockedValueThrowing<Success, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Success
    ) throws(Failure) -> Success {
        let result = withLockedValue { value -> Result<Success, Failure> in
            do throws(Failure) { return .success(try body(&value)) } catch { return .failure(error) }
        }
        return try result.get()
    }
}
