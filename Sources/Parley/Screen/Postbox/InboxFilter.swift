import Relay
import Terminal

extension Inbox {
    /// Shows letters that contain each of some words, in the sender, the postbox, the subject or the text, and in the
    /// persona if there are several. `from:bob` looks in the sender only, `in:work` in the postbox, `persona:shop` in
    /// the persona, and `is:unread` means letters that were not read.
    struct Filter: Sendable {
        private(set) var editor = LineEditor(limit: 256, historyLimit: 0)
        var isTyped = true
        private(set) var terms: [Term] = []
        /// Whether a word beginning with `is:` is still being typed, so that more is found than is meant.
        private(set) var isUnfinished = false

        enum Term: Hashable, Sendable {
            case unread
            case word(String)
            case part(Part, String)
        }

        /// A part of a letter that a word can be meant for; its raw value precedes the word.
        enum Part: String, CaseIterable, Hashable, Sendable {
            case sender = "from:"
            case postbox = "in:"
            case persona = "persona:"
        }

        /// The most Unicode scalars of a letter that are searched. A single character may have any number of them.
        private static let textLimit = 16_384

        var isUnread: Bool { terms.contains(.unread) }
        /// Whether it is kept and only says `is:unread`, which is a way to read any postbox.
        var isUnreadAlone: Bool { !isTyped && terms == [.unread] }

        static var unread: Filter {
            var filter = Filter()
            filter.insert("is:unread")
            filter.isTyped = false
            return filter
        }

        mutating func edit(_ key: Key) {
            _ = editor.handle(key)
            // There is no history to search.
            editor.endSearch()
            understand()
        }

        mutating func insert(_ text: String) {
            editor.insert(String(text.map { $0.breaksLine ? " " : $0 }))
            understand()
        }

        private mutating func understand() {
            let words = editor.text.lowercased().split(whereSeparator: \.isWhitespace)
            terms = words.compactMap { word in
                if word == "is:unread" { return .unread }
                // It is still being typed.
                if word.hasPrefix("is:"), "is:unread".hasPrefix(word) { return nil }
                guard let part = Part.allCases.first(where: { word.hasPrefix($0.rawValue) }) else {
                    return .word(String(word))
                }
                let rest = word.dropFirst(part.rawValue.count)
                return rest.isEmpty ? nil : .part(part, String(rest))
            }
            isUnfinished = terms.count < words.count
        }

        /// - Parameter isRead: whether the letter is known to be read, even if the inbox does not know.
        func lets(through letter: PostboxMessage, of inbox: Inbox, isRead: Bool = false) -> Bool {
            if isUnread, isRead || !inbox.isUnread(letter) { return false }
            var words: [[UInt8]] = []
            for term in terms {
                switch term {
                case .unread: break
                case .word(let word): words.append(Array(word.utf8))
                case .part(let part, let word):
                    let text = Self.text(of: part, letter, in: inbox)
                    guard Self.has(Array(text.lowercased().utf8), Array(word.utf8)) else { return false }
                }
            }
            guard !words.isEmpty else { return true }
            let parts = [
                Self.text(of: .sender, letter, in: inbox), Self.text(of: .postbox, letter, in: inbox),
                inbox.hasPersonas ? letter.sudoId : "", LetterSubject.shown(letter.subject) ?? "",
                Self.beginning(of: letter.message),
            ]
            let text = Array(parts.joined(separator: "\n").lowercased().utf8)
            return words.allSatisfy { Self.has(text, $0) }
        }

        private static func text(of part: Part, _ letter: PostboxMessage, in inbox: Inbox) -> String {
            switch part {
            case .sender: beginning(of: letter.from)
            case .postbox: inbox.fullName(ofBox: letter.postboxId)
            case .persona: letter.sudoId
            }
        }

        private static func beginning(of text: String?) -> String {
            String((text ?? "").unicodeScalars.prefix(textLimit))
        }

        private static func has(_ text: [UInt8], _ word: [UInt8]) -> Bool {
            guard let first = word.first, text.count >= word.count else { return word.isEmpty }
            return (0...text.count - word.count).contains { start in
                text[start] == first && text[start..<start + word.count].elementsEqual(word)
            }
        }
    }

    enum Sort: String, Sendable {
        /// In the order of the list: by age.
        case list
        case sender, postbox

        var next: Sort {
            switch self {
            case .list: .sender
            case .sender: .postbox
            case .postbox: .list
            }
        }

        var words: String? { self == .list ? nil : "by \(rawValue)" }

        /// Sorted letters; equal ones keep the order of the list.
        func sorted(_ letters: [PostboxMessage], in inbox: Inbox) -> [PostboxMessage] {
            let key: (PostboxMessage) -> String
            switch self {
            case .list: return letters
            case .sender: key = { ($0.from ?? "").lowercased() }
            case .postbox: key = { inbox.title(ofBox: $0.postboxId).lowercased() }
            }
            return letters.enumerated().map { (key: key($1), place: $0, letter: $1) }
                .sorted { ($0.key, $0.place) < ($1.key, $1.place) }.map(\.letter)
        }
    }
}

extension Inbox.Filter: Equatable {
    static func == (left: Inbox.Filter, right: Inbox.Filter) -> Bool {
        left.editor.text == right.editor.text && left.editor.cursor == right.editor.cursor
            && left.isTyped == right.isTyped
    }
}
