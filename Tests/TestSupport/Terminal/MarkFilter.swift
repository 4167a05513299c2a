import CChildProcess

/// Takes the supervisor's marks out of a program's output.
struct MarkFilter: Sendable {
    private static let start = Array(CHILD_MARK.utf8)
    private static let length = start.count + 3
    private var held: [UInt8] = []

    /// Returns the program's own bytes, and the kind of each mark among them.
    mutating func feed(_ bytes: UnsafeRawBufferPointer) -> (text: [UInt8], kinds: [UInt8]) {
        var rest = (held + bytes)[...]
        var text: [UInt8] = []
        var kinds: [UInt8] = []
        held = []
        while let escape = rest.firstIndex(of: 0x1B) {
            text += rest[..<escape]
            rest = rest[escape...]
            let length = min(rest.count, Self.start.count)
            guard rest.prefix(length).elementsEqual(Self.start.prefix(length)) else {
                text.append(rest.removeFirst())
                continue
            }
            guard rest.count >= Self.length else {
                held = Array(rest)
                return (text, kinds)
            }
            kinds.append(rest[rest.startIndex + Self.start.count])
            rest = rest.dropFirst(Self.length)
        }
        return (text + rest, kinds)
    }
}
