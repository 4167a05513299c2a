import Relay

extension LetterOrder {
    var opposite: LetterOrder { self == .oldestFirst ? .newestFirst : .oldestFirst }
}

extension Inbox {
    /// The way to a page: the order of the letters, the end of the list where it began, and the tokens since. To go
    /// through a list from its end is to go through the list in the opposite order from its beginning.
    struct Trail: Equatable, Sendable {
        var order = LetterOrder.newestFirst
        /// Whether it began at the list's end.
        var isFromEnd = false
        /// The tokens on the way, one for each page; the first page has none.
        var tokens: [String?] = [nil]

        var count: Int { tokens.count }
        /// The token of the page that it leads to.
        var token: String? { tokens.last ?? nil }
        var listOrder: LetterOrder { isFromEnd ? order.opposite : order }

        /// The trail to the next page in its direction.
        func going(on token: String) -> Trail {
            var trail = self
            trail.tokens.append(token)
            return trail
        }

        /// The trail to the page before, as it goes back.
        func goingBack() -> Trail {
            var trail = self
            if trail.tokens.count > 1 { trail.tokens.removeLast() }
            return trail
        }
    }

    var order: LetterOrder { trail.order }

    var isFirstPage: Bool { trail.isFromEnd ? nextToken == nil : trail.count == 1 }

    var isWholeList: Bool { isFirstPage && isLastPage && newer == 0 }

    var isLastPage: Bool { trail.isFromEnd ? trail.count == 1 : nextToken == nil }

    /// Whether new letters appear on this page.
    var isAtNewest: Bool { order == .newestFirst ? isFirstPage : isLastPage }

    var hasMore: Bool { !isLastPage || order == .oldestFirst && newer > 0 }

    var nextTrail: Trail? {
        guard hasMore else { return nil }
        if trail.isFromEnd { return trail.count > 1 ? trail.goingBack() : trail }
        // A page that new letters have made too long is listed again.
        guard let nextToken, trail.count < Self.trailLimit else { return trail }
        return trail.going(on: nextToken)
    }

    var previousTrail: Trail? {
        guard !isFirstPage else { return nil }
        guard trail.isFromEnd else { return trail.goingBack() }
        guard let nextToken, trail.count < Self.trailLimit else { return nil }
        return trail.going(on: nextToken)
    }

    /// The page's number: `page 3 of about 12`. The number of pages follows from the network's count of letters, which
    /// keeps changing; without it, all that is known is whether there is another page.
    func pageWords(box: String?) -> String {
        let total = box.map { counts[$0] } ?? (counts.isEmpty ? nil : counts.values.reduce(0) { $0 &+ max(0, $1) })
        let pages = total.map { $0 / pageSize + ($0 % pageSize > 0 ? 1 : 0) }
        guard trail.isFromEnd else {
            guard hasMore else { return "page \(trail.count) of \(trail.count)" }
            guard let pages else { return "page \(trail.count), more ▸" }
            return "page \(Wording.grouped(trail.count)) of about \(Wording.grouped(max(trail.count + 1, pages)))"
        }
        if nextToken == nil { return "page 1" + (hasMore ? " of \(trail.count)" : " of 1") }
        let from = trail.count == 1 ? "last page" : "\(Wording.ordinal(trail.count)) to last page"
        guard let pages else { return from }
        return "\(from) of about \(Wording.grouped(max(trail.count + 1, pages)))"
    }
}
