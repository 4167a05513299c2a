import ArgumentParser

/// What the commands are called, and which of them a mistyped word may mean.
struct CommandNames {
    /// Each command's words behind the program's name, as in `["inbox", "list"]`.
    let paths: [[String]]

    /// Those below a command, at every depth, and what ArgumentParser adds; hidden ones are left out.
    init(below root: any ParsableCommand.Type) { paths = Self.paths(below: root) + [["help"]] }

    /// Names that are each a command by itself.
    init(_ names: [String]) { paths = names.map { [$0] } }

    private static func paths(below command: any ParsableCommand.Type) -> [[String]] {
        command.configuration.subcommands.flatMap { subcommand -> [[String]] in
            let configuration = subcommand.configuration
            guard configuration.shouldDisplay, let name = configuration.commandName else { return [] }
            return [[name]] + paths(below: subcommand).map { [name] + $0 }
        }
    }

    /// Whether a word is a command by itself.
    func contains(_ word: String) -> Bool { paths.contains([word]) }

    /// The commands that a word is most like, as they are typed; none where it is like none.
    ///
    /// A word is like a name that it becomes by one slip: a letter too many, too few or another one, or two that
    /// changed places; for long names by two. Names of commands below others count from four letters on, since short
    /// ones are like too many topics.
    func near(_ word: String) -> [String] {
        let typed = Array(word.lowercased().unicodeScalars)
        // Nothing longer is like a command, whatever it is.
        guard (2...32).contains(typed.count) else { return [] }
        let like = paths.compactMap { path -> (rank: Int, path: [String])? in
            guard let name = path.last.map({ Array($0.unicodeScalars) }) else { return nil }
            let (shorter, isNested) = (min(typed.count, name.count), path.count > 1)
            guard !isNested || shorter >= 4 else { return nil }
            let slips = Self.slips(typed, name)
            // Of equals, the one that is a command by itself is meant.
            return slips <= (!isNested && shorter >= 7 ? 2 : 1) ? (2 * slips + (isNested ? 1 : 0), path) : nil
        }
        let best = like.map(\.rank).min()
        return like.filter { $0.rank == best }.map { $0.path.joined(separator: " ") }
    }

    /// How many slips lead from one word to the other: the Damerau-Levenshtein distance, each pair of neighbours
    /// changing places at most once.
    private static func slips(_ left: [UnicodeScalar], _ right: [UnicodeScalar]) -> Int {
        var beforeLast: [Int] = []
        var last = Array(0...right.count)
        for (row, letter) in left.enumerated() {
            var current = [row + 1]
            for (column, other) in right.enumerated() {
                var slips = min(last[column + 1] + 1, current[column] + 1, last[column] + (letter == other ? 0 : 1))
                if row > 0, column > 0, letter == right[column - 1], left[row - 1] == other {
                    slips = min(slips, beforeLast[column - 1] + 1)
                }
                current.append(slips)
            }
            (beforeLast, last) = (last, current)
        }
        return last[right.count]
    }
}
