import Platform
import Relay

/// The commands' access to a local store: needs no network, and creates no store.
enum StoreAccess {
    /// Hands over a file's store, nil if there is none yet, and closes it afterwards. A damaged store is a failure.
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
            // The core's own sentence is about messages in a chat.
            throw CommandFailure(.cannotCreate, "The local store failed: \(words).")
        }
    }

    /// Reads the user's store, if any, for a command that has failed already. Reports only failures of the store; the
    /// caller reports the command's own.
    static func readKept(_ plan: ConnectionPlan?, _ body: (LocalStore) async throws -> Void) async {
        guard let path = plan?.store else { return }
        do {
            try await use(path) { if let store = $0 { try await body(store) } }
        } catch let failure as CommandFailure {
            Output.complain("parley: " + failure.text)
        } catch {}
    }

    /// Saves what a command has learned to the user's store, if there is one, in batches. The network still has it, so
    /// a failure of the store is reported but does not fail the command.
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

    static func absence(_ path: String) -> String { "there is no local store yet at \(path)" }

    private static func opened(_ path: String) async throws -> LocalStore {
        let store = try await blocking { Result { () throws(RelayError) in try LocalStore.open(path) } }.get()
        guard case .rescued(let rescue) = store.opening else { return store }
        try? await store.close()
        // Fails once, so that no script takes the rescued rest for everything.
        let entries = Wording.count(rescue.entries, "entry", plural: "entries")
        throw CommandFailure(
            .badData,
            "The local store \(path) was damaged or of another version. It was put aside as \(rescue.path), and a new "
                + "one has what could be read of what you wrote: \(entries). Run the command again for these.")
    }

    private static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 || errno != ENOENT }
}

extension ConnectionPlan {
    /// The file of the user's local store, which need not exist.
    func storeFile() throws(CommandFailure) -> String {
        guard let store else {
            throw CommandFailure(
                .badConfiguration,
                "Only the token command's token names the user of the local store. Set user in the profile.")
        }
        return store
    }
}
