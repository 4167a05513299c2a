import Relay

/// A portion of a postbox, which is read from its oldest letter on.
struct LetterPortion: Equatable, Sendable {
    enum Source: Hashable, Sendable {
        case network
        /// This machine's store, which has as many letters as the network, and the same newest one.
        case store
        /// This machine's store, as the network cannot be asked.
        case kept

        /// Chooses where a postbox's letters are read: they need not come over the network if this machine has all of
        /// them.
        ///
        /// - Parameters:
        ///   - postbox: the postbox's id; nil for all.
        ///   - counts: the number of letters in each postbox, as the network counts them; nil if it cannot be asked.
        ///   - kept: the number of letters of each postbox that this machine keeps; nil if it keeps none.
        static func of(_ postbox: String?, counts: [String: Int]?, kept: [String: Int]?) -> Source {
            guard let counts else { return .kept }
            guard let kept else { return .network }
            if let postbox { return counts[postbox] ?? 0 == kept[postbox] ?? 0 ? .store : .network }
            return counts.filter { $0.value > 0 } == kept.filter { $0.value > 0 } ? .store : .network
        }

        /// The source once the ids of the newest letters are known, too: equally many letters may be other ones.
        func confirmed(network: String?, kept: String?) -> Source {
            self != .store || network != nil && network == kept ? self : .network
        }
    }

    var letters: [PostboxMessage]
    /// Those of the letters that were read on this machine.
    var readIDs: Set<String> = []
    var nextToken: String?
    var source = Source.network

    static let limit = RelayClient.maximumPage
}

extension Inbox {
    /// A pass through the entire postbox, portion by portion, to mark or to find letters on any page.
    struct Sweep: Equatable, Sendable {
        private(set) var request: UInt64
        /// Where the portion being fetched begins; nil at the beginning of the list.
        private(set) var token: String?
        /// Whether letters were deleted while that portion was being fetched, so that it is requested again.
        var isOutdated = false
        /// The postbox's id; nil for all.
        let box: String?
        /// What the letters have to match; nil for all.
        let filter: Filter?
        /// The number of letters, as the network counts them; nil if unknown.
        let total: Int?
        /// Where the letters are read; nil before the first portion is here.
        private(set) var source: LetterPortion.Source?
        private(set) var seen = 0
        /// The number of letters that matched: they are marked now, or found.
        private(set) var matched = 0

        static let limit = 100_000

        mutating func take(_ portion: LetterPortion, matched count: Int) {
            source = portion.source
            seen += portion.letters.count
            matched += count
        }

        /// How far it has got, in words.
        var progress: String {
            let all = total.map { " of \(Wording.grouped(max($0, seen)))" } ?? ""
            return "\(Wording.grouped(seen))\(all) looked at"
        }

        /// Why it ends after a portion; nil if it goes on.
        func end(after portion: LetterPortion, isFull: Bool) -> End? {
            if isFull { return .full }
            return portion.nextToken == nil ? .complete : seen >= Self.limit ? .tooMany : nil
        }

        mutating func goOn(_ request: UInt64, at token: String?) {
            (self.request, self.token, isOutdated) = (request, token, false)
        }

        enum End: Hashable, Sendable {
            case complete
            /// No more can be marked.
            case full
            /// `limit` letters were looked at, and no more will be.
            case tooMany
            case stopped, left
            case failed(String)
        }

        func words(_ end: End) -> String {
            let letters = Wording.count(matched, "letter")
            let isOne = matched == 1
            let part =
                seen == 0
                ? "No letter was looked at"
                : "\(letters) \(isOne ? "is" : "are") marked of the \(Wording.grouped(seen)) that were looked at"
            switch end {
            case .complete:
                let matching = filter == nil ? "" : isOne ? " that matches" : " that match"
                let all =
                    switch matched {
                    case 0: filter == nil ? "There is no letter to mark." : "No letter matches."
                    case 1: "The only letter\(matching) is marked."
                    default: "All \(letters)\(matching) are marked."
                    }
                return source == .kept ? all + " Without a connection these are the ones that are kept here." : all
            case .full: return "\(Wording.grouped(Inbox.markLimit)) letters are marked, no more can be. \(part)."
            case .tooMany: return "\(part), the oldest ones. The others were not."
            case .stopped: return "Stopped. \(part)."
            case .left: return "The list was left, so no more letters are marked there. \(part)."
            case .failed(let words) where seen == 0: return "The letters could not be listed. \(words)"
            case .failed(let words): return "\(part). The others could not be listed. \(words)"
            }
        }
    }

    /// The letters that a filter finds, on any page.
    struct Matches: Equatable, Sendable {
        var sweep: Sweep
        /// The letters found so far, in the order of the list.
        var letters: [PostboxMessage] = []
        private var bytes = 0
        var end: Sweep.End?

        /// The most letters found, and the most bytes of their texts.
        static let limit = 1_000
        private static let byteLimit = 16 << 20

        init(_ sweep: Sweep) { self.sweep = sweep }

        /// Whether the search for what a filter lets through has ended.
        func isList(for filter: Filter) -> Bool {
            guard sweep.filter?.terms == filter.terms else { return false }
            return switch end {
            case .complete, .full, .tooMany: true
            case .stopped, .left, .failed, nil: false
            }
        }

        var isFull: Bool { letters.count >= Self.limit || bytes >= Self.byteLimit }

        mutating func take(_ found: [PostboxMessage], _ portion: LetterPortion) {
            sweep.take(portion, matched: found.count)
            let known = Set(letters.map(\.id))
            let new = found.filter { !known.contains($0.id) }.prefix(max(0, Self.limit - letters.count))
            letters += new
            bytes += new.reduce(0) { $0 + $1.message.utf8.count }
        }

        mutating func add(_ letter: PostboxMessage, _ order: LetterOrder) {
            // A list that ends with the newest letter gets to it in time.
            guard order == .newestFirst || end == .complete else { return }
            guard !letters.contains(where: { $0.id == letter.id }), order == .newestFirst || !isFull else { return }
            letters.insert(letter, at: order == .newestFirst ? 0 : letters.count)
            if letters.count > Self.limit { letters.removeLast() }
        }

        mutating func remove(_ ids: Set<String>) {
            letters.removeAll { ids.contains($0.id) }
            sweep.isOutdated = true
        }
    }
}
