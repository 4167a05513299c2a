import Relay

/// What is said of a deletion that did not delete all it was asked to: a pure value.
///
/// A letter that is not there is named. Of many that share another reason, the lost connection say, the reason is told
/// once with their number.
struct DeletionReport {
    /// What is said on standard error, in order; the last one is the command's exit status.
    private(set) var complaints: [CommandFailure] = []
    private let deletion: BulkDeletion

    /// - Parameter explained: puts an error into the command line's words.
    init(_ deletion: BulkDeletion, explained: (RelayError) -> CommandFailure) {
        self.deletion = deletion
        for failure in deletion.failed where failure.isMissing { complaints.append(explained(failure.error)) }
        for (error, count) in Self.reasons(deletion.failed.filter { !$0.isMissing }) {
            let failure = explained(error)
            let (verb, reason) = (count == 1 ? "was" : "were", error == .cancelled ? "" : " " + failure.text)
            complaints.append(
                CommandFailure(failure.code, "\(Wording.count(count, "letter")) \(verb) not deleted.\(reason)"))
        }
        for (error, count) in Self.reasons(deletion.unknown) {
            let failure = explained(error)
            let whether = count == 1 ? "it is" : "they are"
            complaints.append(
                CommandFailure(
                    failure.code,
                    "Of \(Wording.count(count, "letter")) it is not known whether \(whether) gone. \(failure.text)"))
        }
    }

    /// The object that scripts read. What is not known stands among what failed, with its reason.
    var json: MessageMap {
        let failed = deletion.notDeleted.map {
            MessageValue.map(["id": .string($0.id), "error": .string($0.error.words)])
        }
        return ["deleted": .array(deletion.deleted.map { .string($0) }), "failed": .array(failed)]
    }

    /// The reasons in the order in which they come first, and of how many letters each is.
    private static func reasons(_ failures: [BulkDeletion.Failure]) -> [(error: RelayError, count: Int)] {
        var reasons: [(error: RelayError, count: Int)] = []
        for failure in failures {
            if let index = reasons.firstIndex(where: { $0.error == failure.error }) {
                reasons[index].count += 1
            } else {
                reasons.append((failure.error, 1))
            }
        }
        return reasons
    }
}
