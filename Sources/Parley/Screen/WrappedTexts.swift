import Platform
import Terminal

/// A cache of messages' texts as lately wrapped, and of the title line, so that a frame measures only what the one
/// before it did not show. A frame drawn with it is the same as one drawn without.
///
/// Bounded: it holds two generations of texts, and drops the older one when the younger one is full.
final class WrappedTexts {
    /// A text, what precedes it, and the width of its lines.
    private struct Key: Hashable {
        let text: String
        let lead: String
        let columns: Int

        /// The beginning tells texts apart well enough, and is quick for the longest of them.
        func hash(into hasher: inout Hasher) {
            hasher.combine(columns)
            var text = text
            text.withUTF8 { bytes in
                hasher.combine(bytes.count)
                hasher.combine(bytes: UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: bytes.prefix(96))))
            }
        }

        /// Compares bytes: two equivalent texts need not be drawn the same.
        static func == (left: Key, right: Key) -> Bool {
            guard left.columns == right.columns, left.lead.utf8.elementsEqual(right.lead.utf8) else { return false }
            var (one, other) = (left.text, right.text)
            return one.withUTF8 { one in
                other.withUTF8 { other in
                    guard one.count == other.count else { return false }
                    guard let first = one.baseAddress, let second = other.baseAddress else { return true }
                    return first == second || memcmp(first, second, one.count) == 0
                }
            }
        }
    }

    /// The number of characters that one generation holds before it is full.
    private static let limit = 16_384
    private var young: [Key: [MarkedText]] = [:]
    private var old: [Key: [MarkedText]] = [:]
    private var held = 0
    private var title: (words: TitleLine.Words, columns: Int, line: TitleLine)?

    /// The title line of these words: the last one, or a new one.
    func titleLine(_ words: TitleLine.Words, columns: Int) -> TitleLine {
        if let title, title.columns == columns, title.words == words { return title.line }
        let line = TitleLine(words, columns: columns)
        title = (words, columns, line)
        return line
    }

    /// The lines of a text: the cached ones, or what `breaking` returns.
    func lines(of text: String, lead: String = "", columns: Int, breaking: () -> [MarkedText]) -> [MarkedText] {
        let key = Key(text: text, lead: lead, columns: columns)
        if let lines = young[key] { return lines }
        let lines = old[key] ?? breaking()
        // An empty text counts too, and so does a long one that is shown as a short one.
        let size = lines.reduce(16 + text.utf8.count / 64) { $0 + $1.text.clusters.count }
        if held + size > Self.limit, held > 0 {
            old = young
            young = [:]
            held = 0
        }
        young[key] = lines
        held += size
        return lines
    }
}
