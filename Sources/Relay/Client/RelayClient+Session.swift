import NATS
import NIOCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// An exclusive session, held in the network's bucket.
extension RelayClient {
    /// Takes the session before anything is restored.
    ///
    /// - Returns: false when another device keeps it, which has been reported then.
    /// - Throws: what kept the bucket from answering.
    func claimSession(_ link: Link) async throws(NATSError) -> Bool {
        guard let claim = session, let user else { return true }
        let bucket = try KeyValueBucket(SessionClaim.bucket, link.jetStream)
        let key = SessionClaim.key(for: user)
        // Devices that come at the same moment find out one after the other.
        for _ in 0..<8 {
            let entry = try await found(key, in: bucket)
            guard self.link?.generation == link.generation else { return false }
            let step = claim.step(onConnecting: entry)
            if case .leave(let device) = step {
                displaced(by: device, generation: link.generation)
                return false
            }
            do throws(NATSError) {
                let value = ByteBuffer(bytes: claim.value)
                let revision =
                    if let entry {
                        try await bucket.update(value, for: key, revision: entry.revision)
                    } else {
                        try await bucket.create(value, for: key)
                    }
                guard self.link?.generation == link.generation else { return false }
                session?.wrote(revision)
                self.link?.watchers += [
                    watchSession(key, in: bucket, generation: link.generation),
                    keepSession(key, in: bucket, generation: link.generation),
                ]
                return true
            } catch {
                guard Self.isConflict(error) else { throw error }
            }
        }
        throw .timeout("the user's other devices kept taking the session")
    }

    private func found(
        _ key: String, in bucket: KeyValueBucket
    ) async throws(NATSError) -> (holder: SessionClaim.Holder?, revision: UInt64)? {
        do throws(NATSError) {
            return try await bucket.get(key).map { (Self.holder($0), $0.revision) }
        } catch .noResponders, .timeout {
            throw .invalidArgument("This network keeps no sessions; use the policy of shared ones.")
        }
    }

    /// Follows who holds the session, beginning with the present holder, so that nothing falls between.
    private func watchSession(_ key: String, in bucket: KeyValueBucket, generation: UInt64) -> Task<Void, Never> {
        Task { [weak self] in
            while !Task.isCancelled, bucket.jetStream.connection.isOpen {
                do throws(NATSError) {
                    var changes = try bucket.watch(key).makeAsyncIterator()
                    while let entry = try await changes.next() {
                        await self?.sessionChanged(entry, generation: generation)
                    }
                } catch {
                    // A consumer that is lost while the connection stands is made anew.
                }
                try? await Task.sleep(for: .seconds(1))
            }
        }
    }

    private func sessionChanged(_ entry: KeyValueEntry, generation: UInt64) {
        guard let session, link?.generation == generation, entry.operation == .put,
            entry.revision >= session.revision ?? 0,
            case .leave(let device) = session.step(onChange: Self.holder(entry))
        else { return }
        displaced(by: device, generation: generation)
    }

    /// Writes the entry again before the bucket forgets it.
    private func keepSession(_ key: String, in bucket: KeyValueBucket, generation: UInt64) -> Task<Void, Never> {
        Task { [weak self] in
            while !Task.isCancelled {
                do { try await Task.sleep(for: SessionClaim.renewal) } catch { return }
                await self?.rewriteSession(key, in: bucket, generation: generation)
            }
        }
    }

    private func rewriteSession(_ key: String, in bucket: KeyValueBucket, generation: UInt64) async {
        guard let session, let revision = session.revision, link?.generation == generation else { return }
        let value = ByteBuffer(bytes: session.value)
        do throws(NATSError) {
            let written = try await bucket.update(value, for: key, revision: revision)
            if link?.generation == generation { self.session?.wrote(written) }
        } catch {
            // Another device's entry is the watcher's news. One that was forgotten meanwhile is made again.
            guard Self.isConflict(error), link?.generation == generation,
                let written = try? await bucket.create(value, for: key)
            else { return }
            if link?.generation == generation { self.session?.wrote(written) }
        }
    }

    private func displaced(by device: String, generation: UInt64) {
        session?.released()
        handle(.serverControl(generation: generation, reason: .kickedByOtherDevice(device)))
    }

    /// Gives the session back, where this client still holds it, and closes the connection.
    func releaseSession(_ link: Link) {
        guard let revision = session?.revision, let user,
            let bucket = try? KeyValueBucket(SessionClaim.bucket, link.jetStream)
        else { return link.connection.closeNow() }
        session?.released()
        let connection = link.connection
        sessionRelease = Task {
            let alarm = Task {
                try? await Task.sleep(for: .seconds(1))
                connection.closeNow()
            }
            try? await bucket.delete(SessionClaim.key(for: user), revision: revision)
            alarm.cancel()
            connection.closeNow()
        }
    }

    private static func holder(_ entry: KeyValueEntry) -> SessionClaim.Holder? {
        try? JSONDecoder().decode(SessionClaim.Holder.self, from: Data(entry.value.readableBytesView))
    }

    private static func isConflict(_ error: NATSError) -> Bool {
        guard case .jetStream(let failure) = error else { return false }
        return KeyValueBucket.isConflict(failure)
    }
}
