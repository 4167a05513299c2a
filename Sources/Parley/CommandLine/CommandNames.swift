import ArgumentParser

/// The names of the commands, and suggestions for mistyped ones.
struct CommandNames {
    /// Each command's words after the program's name, as in `["inbox", "list"]`.
    let paths: [[String]]

    /// All visible commands below one, at every depth, and ArgumentParser's `help`.
    init(below root: any ParsableCommand.Type) { paths = Self.paths(below: root) + [["help"]] }

    init(_ names: [String]) { paths = names.map { [$0] } }

    private static func paths(below command: any ParsableCommand.Type) -> [[String]] {
        command.configuration.subcommands.flatMap { subcommand -> [[String]] in
            let configuration = subcommand.configuration
            guard configuration.shouldDisplay, let name = configuration.commandName else { return [] }
            return [[name]] + paths(below: subcommand).map { [name] + $0 }
        }
    }

    func contains(_ word: String) -> Bool { paths.contains([word]) }

    /// The commands most similar to a word, as they are typed; empty if none is similar.
    ///
    /// A name is similar if one slip separates it from the word: an extra, missing or wrong letter, or two swapped;
    /// for long names, two slips. Names of subcommands need four letters, since shorter ones resemble too many topics.
    func near(_ word: String) -> [String] {
        let typed = Array(word.lowercased().unicodeScalars)
        guard (2...32).contains(typed.count) else { return [] }
        let like = paths.compactMap { path -> (rank: Int, path: [String])? in
            guard let name = path.last.map({ Array($0.unicodeScalars) }) else { return nil }
            let (shorter, isNested) = (min(typed.count, name.count), path.count > 1)
            guard !isNested || shorter >= 4 else { return nil }
            let slips = Self.slips(typed, name)
            // A top-level command wins a tie.
            return slips <= (!isNested && shorter >= 7 ? 2 : 1) ? (2 * slips + (isNested ? 1 : 0), path) : nil
        }
        let best = like.map(\.rank).min()
        return like.filter { $0.rank == best }.map { $0.path.joined(separator: " ") }
    }

    /// The Damerau-Levenshtein distance of two words, in its restricted form: no pair of neighbours is swapped twice.
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
