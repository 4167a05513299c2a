import NIOPosix

extension LocalStore {
    /// Opens a store on a thread that may wait for the disk.
    ///
    /// - Parameters:
    ///   - retention: what of it is to stay, for as long as it is open.
    ///   - upkeep: closed while what is not to stay has time.
    ///   - clock: whose time says when the rest is deleted.
    ///   - publisher: gets back what is kept of the outbox, before anybody else has the store.
    ///   - board: is told how that went.
    /// - Returns: the store; nil where it cannot be opened.
    static func opening(
        _ location: Location, keeping retention: RetentionPolicy, while upkeep: RestGate, by clock: any Timekeeper,
        for publisher: Publisher, telling board: StatusBoard<Opening>
    ) -> Task<LocalStore?, Never> {
        Task { () -> LocalStore? in
            let result: Result<(store: LocalStore, isRecreated: Bool), RelayError>
            do {
                // Disks may be slow, and the pool of tasks is small.
                result = try await NIOThreadPool.singleton.runIfActive {
                    do throws(RelayError) {
                        let opened = try LocalStore.open(location)
                        publisher.keep(in: opened.store)
                        return .success(opened)
                    } catch {
                        return .failure(error)
                    }
                }
            } catch {
                result = .failure(.storage("the system has no thread left to open it"))
            }
            switch result {
            case .success(let opened):
                if case .file = location { opened.store.lookAfter(retention, by: clock, while: upkeep) }
                board.post(LocalStore.Opening(isRecreated: opened.isRecreated, rescue: opened.store.rescue))
                return opened.store
            case .failure(let error):
                publisher.keeper?.turnOff()
                board.post(LocalStore.Opening(isRecreated: false, error: error))
                return nil
            }
        }
    }
}
