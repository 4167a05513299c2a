import Relay

/// The report on a deletion that may have failed in part: a pure value.
///
/// Missing letters are named. Letters that share another reason, such as a lost connection, are counted together.
struct DeletionReport {
    /// The messages for standard error, in order; the last one gives the command's exit status.
    private(set) var complaints: [CommandFailure] = []
    private let deletion: BulkDeletion

    /// - Parameter explained: turns an error into a failure of the command.
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

    /// The object for scripts. Letters with an unknown outcome are among the failed ones.
    var json: MessageMap {
        let failed = deletion.notDeleted.map {
            MessageValue.map(["id": .string($0.id), "error": .string($0.error.words)])
        }
        return ["deleted": .array(deletion.deleted.map { .string($0) }), "failed": .array(failed)]
    }

    /// The reasons in order of first appearance, each with its number of letters.
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
