import NIOPosix

// The local store: opened once, before anything is dialled.
extension RelayClient {
    /// The opening of the local store, which begins with the first call.
    func openingStore() -> Task<LocalStore?, Never> {
        if let storeOpening { return storeOpening }
        let location = configuration.store
        let opening = Task { [storeBoard] () -> LocalStore? in
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
                storeBoard.post(LocalStore.Opening(isRecreated: opened.isRecreated))
                return opened.store
            case .failure(let error):
                storeBoard.post(LocalStore.Opening(isRecreated: false, error: error))
                return nil
            }
        }
        storeOpening = opening
        return opening
    }
}
