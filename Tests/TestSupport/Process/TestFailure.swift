/// What a helper of the tests could not do, or did not see in time, in words that help to find out why.
public struct TestFailure: Error, CustomStringConvertible {
    /// The whole story: what was awaited, where in the tests, and what was seen instead.
    public let description: String

    /// A failure that names the place in the tests where it came up.
    public init(_ words: String, fileID: String = #fileID, line: Int = #line) {
        description = "\(words) (\(fileID):\(line))"
    }
}
