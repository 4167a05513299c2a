import NATS
import NIOCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// An exclusive session, held in the network's bucket.
extension RelayClient {
    /// Who takes the session, and where.
    struct SessionEntry: Sendable {
        let claim: SessionClaim
        let bucket: KeyValueBucket
        let key: String
    }

    /// What came of taking the session.
    enum SessionOutcome: Sendable {
        /// This client holds it, with this revision of its entry.
        case held(revision: UInt64)
        /// Another device keeps it.
        case kept(device: String)
    }

    /// The session to take on this connection before anything is restored; nil where sessions are shared.
    func sessionEntry(_ link: Link) throws(NATSError) -> SessionEntry? {
        guard let claim = session, let user else { return nil }
        let bucket = try KeyValueBucket(SessionClaim.bucket, link.jetStream)
        return SessionEntry(claim: claim, bucket: bucket, key: SessionClaim.key(for: user))
    }

    /// Takes the session, or finds out who keeps it.
    ///
    /// - Throws: what kept the bucket from answering.
    static func take(_ entry: SessionEntry) async throws(NATSError) -> SessionOutcome {
        // Devices that come at the same moment find out one after the other.
        for _ in 0..<8 {
            let present = try await found(entry)
            if case .leave(let device) = entry.claim.step(onConnecting: present) { return .kept(device: device) }
            do throws(NATSError) {
                let value = ByteBuffer(bytes: entry.claim.value)
                if let present {
                    return .held(
                        revision: try await entry.bucket.update(value, for: entry.key, revision: present.revision))
                }
                return .held(revision: try await entry.bucket.create(value, for: entry.key))
            } catch {
                guard Self.isConflict(error) else { throw error }
            }
        }
        throw .timeout("the user's other devices kept taking the session")
    }

    /// Keeps the session that was taken; false when another device has it, or the connection is no longer the present
    /// one.
    func tookSession(_ entry: SessionEntry, _ outcome: SessionOutcome, generation: UInt64) -> Bool {
        guard link?.generation == generation else { return false }
        switch outcome {
        case .kept(let device):
            displaced(by: device, generation: generation)
            return false
        case .held(let revision):
            session?.wrote(revision)
            link?.watchers += [
                watchSession(entry.key, in: entry.bucket, generation: generation),
                keepSession(entry.key, in: entry.bucket, generation: generation),
            ]
            return true
        }
    }

    private static func found(
        _ entry: SessionEntry
    ) async throws(NATSError) -> (holder: SessionClaim.Holder?, revision: UInt64)? {
        let missing = NATSError.invalidArgument("This network keeps no sessions; use the policy of shared ones.")
        do throws(NATSError) {
            return try await entry.bucket.get(entry.key).map { (Self.holder($0), $0.revision) }
        } catch .noResponders {
            throw missing
        } catch {
            guard case .timeout = error else { throw error }
            // Some servers leave the question about a bucket that they don't have without an answer.
            do throws(NATSError) {
                _ = try await entry.bucket.jetStream.streamInfo("KV_" + SessionClaim.bucket)
            } catch .jetStream(let failure) where failure.errorCode == JetStreamFailure.streamNotFound {
                throw missing
            } catch {
                // Not permitted, or as slow as the bucket.
            }
            throw error
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
            entry.revision >= session.revision ?? 0
        else { return }
        switch session.step(onChange: Self.holder(entry)) {
        case .leave(let device): displaced(by: device, generation: generation)
        // An entry of this client whose acknowledgement was lost: the next one builds on it all the same.
        case .keep where Self.holder(entry) == session.me: self.session?.wrote(entry.revision)
        case .keep, .write: break
        }
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
        var jetStream = link.jetStream
        jetStream.timeout = .seconds(1)
        guard let revision = session?.revision, let user,
            let bucket = try? KeyValueBucket(SessionClaim.bucket, jetStream)
        else { return link.connection.closeNow() }
        session?.released()
        let connection = link.connection
        sessionRelease = Task {
            try? await bucket.delete(SessionClaim.key(for: user), revision: revision)
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
