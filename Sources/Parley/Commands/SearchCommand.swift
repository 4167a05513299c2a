import ArgumentParser
import Relay

struct SearchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "search", abstract: "Search the local store for messages and letters, newest first.",
        discussion: """
            Finds messages that contain all the words, each as the beginning of a word; words in quotes must be adjacent. \
            from:NAME, in:TOPIC, after:DATE and before:DATE narrow it, and -WORD excludes a word; put -- before a leading \
            dash. It uses no network.
            """)

    @OptionGroup var connection: ConnectionOptions

    @Option(
        name: .customLong("in"),
        help: ArgumentHelp(
            "Only this topic, or matching ones; may be given several times. Leaves out letters.", valueName: "topic")
    )
    var topics: [String] = []

    @Option(help: ArgumentHelp("Most messages, 1 to 1000.", valueName: "count"))
    var limit: Int = 100

    @Flag(help: "Print one JSON object for each message.")
    var json = false

    @Argument(help: "The words to search for.")
    var words: [String]

    func validate() throws {
        guard (1...1_000).contains(limit) else { throw ValidationError("--limit takes a number from 1 to 1000.") }
    }

    func run() async throws {
        let wanted = try query(secondsFromGMT: DisplayZone.local.secondsFromGMT(at: WallClock.now))
        let path = try connection.plan().storeFile()
        try await StoreAccess.use(path) { store in
            guard let store else { return Output.complain("parley: nothing was found: \(StoreAccess.absence(path))") }
            write(try await store.search(wanted, limit: limit), SearchMatch(wanted))
        }
    }

    /// - Parameter secondsFromGMT: the time zone for the days of `after:` and `before:`.
    func query(secondsFromGMT: Int) throws -> SearchQuery {
        let text = words.joined(separator: " ")
        if let missing = SearchQuery.missingValue(in: text) { throw CommandFailure(.usage, missing) }
        var query = SearchQuery(text, secondsFromGMT: secondsFromGMT)
        guard !query.isEmpty else {
            throw CommandFailure(
                .usage, "There is nothing to look for: name a word that has a letter or a digit.")
        }
        query.topics += try topics.map(StoreOptions.pattern)
        return query
    }

    private func write(_ result: SearchResult, _ match: SearchMatch) {
        let printer = MessagePrinter(style: .text, limit: nil)
        for hit in result.hits {
            switch hit {
            case .message(let kept):
                if json, let message = kept.message {
                    Output.json(message.json, ["match": MessageValue(match.part(of: message.text))])
                } else {
                    _ = printer.print([kept.event])
                }
            case .letter(let letter):
                if json {
                    Output.json(letter.json, ["match": MessageValue(match.part(of: letter.text))])
                } else {
                    Output.line(letter.foundLine)
                }
            }
        }
        if result.hits.isEmpty {
            Output.complain("parley: nothing was found")
        } else if !result.isComplete {
            Output.complain("parley: there may be more: --limit, or before: with an earlier date")
        }
    }
}

extension KeptLetter {
    /// The keys of a message, null where they do not apply to letters, followed by a letter's own.
    var json: MessageMap {
        let (from, recipient) = direction == .received ? (person, nil) : (nil, person)
        return [
            "seq": .null, "topic": .null, "id": .string(id), "from": MessageValue(from), "text": .string(text),
            "message": .string(text), "time": .string(time.iso8601), "recovered": .bool(false),
            "postbox": .string(postbox), "to": MessageValue(recipient), "subject": MessageValue(subject),
        ]
    }

    fileprivate var foundLine: String {
        let (place, who) = (Output.safe(postbox), Output.safe(person ?? "?"))
        let words =
            switch direction {
            case .received: "letter to \(place)  \(who):"
            case .sent: "letter to \(who)/\(place) "
            }
        let about = LetterSubject.prefix(subject.map { Output.safe($0) })
        return "\(time.iso8601)  \(words) \(about)\(Output.indented(text))"
    }
}
