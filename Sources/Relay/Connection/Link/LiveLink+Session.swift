import NATS
import NIOCore
import Platform

// An exclusive session, held in the network's bucket over this connection.
extension LiveLink {
    /// Who takes the session, and where.
    private struct Entry: Sendable {
        let bucket: KeyValueBucket
        let key: String
    }

    /// Takes the session before anything is restored, and keeps it; false when another device has it.
    ///
    /// - Throws: what kept the bucket from answering.
    func take(_ claim: SessionClaim, of user: String) async throws(NATSError) -> Bool {
        guard let jetStream else { return false }
        let entry = Entry(
            bucket: try KeyValueBucket(SessionClaim.bucket, jetStream), key: SessionClaim.key(for: user))
        // Devices that come at the same moment find out one after the other.
        for _ in 0..<8 {
            let present = try await find(entry)
            if let device = claim.deviceKeepingOut(present?.holder) {
                await inOwner { $0.login.sessionIsHeld(by: device, for: $0) }
                return false
            }
            do throws(NATSError) {
                let value = ByteBuffer(bytes: claim.value)
                let revision =
                    if let present {
                        try await entry.bucket.update(value, for: entry.key, revision: present.revision)
                    } else {
                        try await entry.bucket.create(value, for: entry.key)
                    }
                return await keep(entry, revision: revision)
            } catch {
                guard Self.isConflict(error) else { throw error }
            }
        }
        throw .timeout("the user's other devices kept taking the session")
    }

    private func keep(_ entry: Entry, revision: UInt64) async -> Bool {
        guard await inOwner({ $0.login.sessionWritten(revision) }) != nil else { return false }
        start { link in await link.watch(entry) }
        start { link in await link.renew(entry) }
        return true
    }

    private func find(_ entry: Entry) async throws(NATSError) -> (holder: SessionClaim.Holder?, revision: UInt64)? {
        let missing = NATSError.invalidArgument("This network keeps no sessions; use the policy of shared ones.")
        do throws(NATSError) {
            return try await entry.bucket.get(entry.key).map { (Self.holder($0), $0.revision) }
        } catch .noResponders {
            throw missing
        } catch {
            guard case .timeout = error else { throw error }
            // Some servers leave the question about a bucket that they don't have without an answer.
            do throws(NATSError) {
                _ = try await entry.bucket.jetStream.streamInfo(NetworkNames.stream(ofBucket: SessionClaim.bucket))
            } catch .jetStream(let failure) where failure.errorCode == JetStreamFailure.streamNotFound {
                throw missing
            } catch {
                // Not permitted, or as slow as the bucket.
            }
            throw error
        }
    }

    /// Follows who holds the session, beginning with the present holder, so that nothing falls between.
    private func watch(_ entry: Entry) async {
        while !Task.isCancelled, entry.bucket.jetStream.connection.isOpen {
            do throws(NATSError) {
                var changes = try entry.bucket.watch(entry.key).makeAsyncIterator()
                while let change = try await changes.next() {
                    guard change.operation == .put else { continue }
                    let (holder, revision) = (Self.holder(change), change.revision)
                    await inOwner { $0.login.sessionChanged(to: holder, revision: revision, for: $0) }
                }
            } catch {
                // A consumer that is lost while the connection is open is made anew.
            }
            try? await surroundings.clock.sleep(for: .seconds(1))
        }
    }

    /// Writes the entry again before the bucket forgets it.
    private func renew(_ entry: Entry) async {
        while !Task.isCancelled {
            do { try await surroundings.clock.sleep(for: SessionClaim.renewal) } catch { return }
            guard let claim = await inOwner({ $0.login.claim }) ?? nil, let revision = claim.revision else {
                continue
            }
            let value = ByteBuffer(bytes: claim.value)
            var written: UInt64?
            do throws(NATSError) {
                written = try await entry.bucket.update(value, for: entry.key, revision: revision)
            } catch {
                // Another device's entry is the watcher's news. One that was forgotten meanwhile is made again.
                if Self.isConflict(error) { written = try? await entry.bucket.create(value, for: entry.key) }
            }
            if let written { await inOwner { $0.login.sessionWritten(written) } }
        }
    }

    /// Gives a session back, unless another device has taken it meanwhile.
    static func release(_ claim: SessionClaim, of user: String, over jetStream: JetStream) async {
        var jetStream = jetStream
        jetStream.timeout = .seconds(1)
        guard let revision = claim.revision, let bucket = try? KeyValueBucket(SessionClaim.bucket, jetStream) else {
            return
        }
        try? await bucket.delete(SessionClaim.key(for: user), revision: revision)
    }

    private static func holder(_ entry: KeyValueEntry) -> SessionClaim.Holder? {
        try? JSONDecoder().decode(SessionClaim.Holder.self, from: Data(entry.value.readableBytesView))
    }

    private static func isConflict(_ error: NATSError) -> Bool {
        guard case .jetStream(let failure) = error else { return false }
        return KeyValueBucket.isConflict(failure)
    }
}
