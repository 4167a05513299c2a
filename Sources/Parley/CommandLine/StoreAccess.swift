import Platform
import Relay

/// How commands come to a local store: without any network, and without making one where there is none.
enum StoreAccess {
    /// Hands over the store in a file, nil where there is none yet, and closes it afterwards. One that was damaged is a
    /// failure.
    static func use(_ path: String, _ body: (LocalStore?) async throws -> Void) async throws {
        do {
            guard exists(path) else { return try await body(nil) }
            let store = try await opened(path)
            do {
                try await body(store)
            } catch {
                try? await store.close()
                throw error
            }
            try await store.close()
        } catch RelayError.storage(let words) {
            // The core's own sentence speaks of messages that travel on, which nobody has asked for here.
            throw CommandFailure(.cannotCreate, "The local store failed: \(words).")
        }
    }

    /// Reads the user's store, where there is one, for a command that has failed already. Reports only failures
    /// of the store; the command's own failure is reported anyway.
    static func readKept(_ plan: ConnectionPlan?, _ body: (LocalStore) async throws -> Void) async {
        guard let path = plan?.store else { return }
        do {
            try await use(path) { if let store = $0 { try await body(store) } }
        } catch let failure as CommandFailure {
            Output.complain("parley: " + failure.text)
        } catch {}
    }

    /// Has the user's store keep what a command has learned, where there is one, a part after the other where it is
    /// much. What is on the network is not lost without it, so a store that cannot be used is told and fails no
    /// command.
    static func note(_ changes: [StoreChange], _ plan: ConnectionPlan) async {
        guard !changes.isEmpty, let path = plan.store else { return }
        do {
            try await use(path) { store in
                guard let store else { return }
                for start in stride(from: 0, to: changes.count, by: LocalStore.deletionsAtOnce) {
                    let end = min(changes.count, start + LocalStore.deletionsAtOnce)
                    try await store.commit(Array(changes[start..<end]))
                }
            }
        } catch let failure as CommandFailure {
            Output.complain("parley: " + failure.text)
        } catch {
            Output.complain("parley: the local store could not be used")
        }
    }

    /// What is said where there is no store.
    static func absence(_ path: String) -> String { "there is no local store yet at \(path)" }

    private static func opened(_ path: String) async throws -> LocalStore {
        let store = try await blocking { Result { () throws(RelayError) in try LocalStore.open(path) } }.get()
        guard case .rescued(let rescue) = store.opening else { return store }
        try? await store.close()
        // A script must not take what is left for all there was, so that this is a failure, once.
        let entries = Wording.count(rescue.entries, "entry", plural: "entries")
        throw CommandFailure(
            .badData,
            "The local store \(path) was damaged or of another version. It was put aside as \(rescue.path), and a new "
                + "one has what could be read of what you wrote: \(entries). Run the command again for these.")
    }

    /// Whether there is something under this name, or nobody can tell.
    private static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 || errno != ENOENT }
}

extension ConnectionPlan {
    /// The file of the user's local store, whether it is there or not.
    func storeFile() throws(CommandFailure) -> String {
        guard let store else {
            throw CommandFailure(
                .badConfiguration,
                "Whose local store it is, only the token command's token tells. Set user in the profile.")
        }
        return store
    }
}
