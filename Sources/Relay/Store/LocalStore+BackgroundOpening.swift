import NIOPosix

extension LocalStore {
    /// Opens a store on a thread that may wait for the disk.
    ///
    /// - Parameter board: is told how that went before anybody has the store.
    /// - Returns: the store; nil where it cannot be opened.
    static func opening(_ location: Location, telling board: StatusBoard<Opening>) -> Task<LocalStore?, Never> {
        Task { () -> LocalStore? in
            let result: Result<(store: LocalStore, isRecreated: Bool), RelayError>
            do {
                // Disks may be slow, and the pool of tasks is small.
                result = try await NIOThreadPool.singleton.runIfActive {
                    do throws(RelayError) {
                        return .success(try LocalStore.open(location))
                    } catch {
                        return .failure(error)
                    }
                }
            } catch {
                result = .failure(.storage("the system has no thread left to open it"))
            }
            switch result {
            case .success(let opened):
                board.post(LocalStore.Opening(isRecreated: opened.isRecreated))
                return opened.store
            case .failure(let error):
                board.post(LocalStore.Opening(isRecreated: false, error: error))
                return nil
            }
        }
    }
}
