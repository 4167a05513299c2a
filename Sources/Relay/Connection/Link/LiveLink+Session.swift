import NATS
import NIOCore
import Platform

// An exclusive session, held in the network's bucket over this connection.
extension LiveLink {
    private struct Entry: Sendable {
        let bucket: KeyValueBucket
        let key: String
    }

    /// Claims the session before anything is restored, and keeps it; false if another device has it.
    ///
    /// - Throws: The reason why the bucket did not answer.
    func take(_ claim: SessionClaim, of user: String) async throws(NATSError) -> Bool {
        guard let jetStream else { return false }
        let entry = Entry(bucket: try KeyValueBucket(SessionClaim.bucket, jetStream), key: SessionClaim.key(for: user))
        // Of devices that arrive at the same moment, each round lets one through.
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
        throw .timeout("other devices of the user kept taking the session")
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
            // Some servers do not answer a question about a bucket that they don't have.
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

    /// Follows the holder of the session from the present one on, so that no change is missed.
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
                // A consumer that is lost while the connection is open is created again.
            }
            try? await surroundings.clock.sleep(for: .seconds(1))
        }
    }

    /// Rewrites the entry before the bucket expires it.
    private func renew(_ entry: Entry) async {
        while !Task.isCancelled {
            do { try await surroundings.clock.sleep(for: SessionClaim.renewal) } catch { return }
            guard let claim = await inOwner({ $0.login.claim }) ?? nil, let revision = claim.revision else { continue }
            let value = ByteBuffer(bytes: claim.value)
            var written: UInt64?
            do throws(NATSError) {
                written = try await entry.bucket.update(value, for: entry.key, revision: revision)
            } catch {
                // The watcher reports another device's entry. An entry that has expired is created again.
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
