import Relay
import RelayFaults
import RelayLab

extension ChatEngine {
    /// Puts the connection behind the lab's proxy.
    func openLab() {
        labTask = Task { [labTask] in
            await labTask?.value
            guard lab == nil else { return }
            do {
                let lab = try await ChatLab.open(client, connector, queue, policy: lifecyclePolicy)
                self.lab = lab
                await labTap.attach(lab.run)
                await lab.follow(followedTopics)
                // The screen asks for news where it shows the lab.
                await queue.send(.lab(.opened(lab.hindrances)))
            } catch let error as RelayError {
                await queue.send(.lab(.failed("The lab cannot be opened. \(error.words)")))
            } catch {
                await queue.send(.lab(.failed("The lab cannot be opened. \(error)")))
            }
        }
    }

    /// Does something in the lab, behind what was begun before.
    func perform(_ deeds: [LabDeed]) {
        labTask = Task { [labTask] in
            await labTask?.value
            for deed in deeds {
                do { try await lab?.perform(deed) } catch {
                    let words = (error as? RelayError)?.words ?? "\(error)"
                    await queue.send(.lab(.refused("“\(deed.act.name.rawValue)” could not be done: \(words)")))
                    return
                }
            }
        }
    }

    /// Ends the lab, and tells what it came to.
    func endLab() {
        labTask = Task { [labTask] in
            await labTask?.value
            guard let lab else { return }
            let glance = await lab.end(following: Set(followedTopics), labTap)
            endedLab = lab
            self.lab = nil
            labTap.attach(nil)
            await queue.send(.lab(.over(glance)))
        }
    }

    /// The chat ends: the network is left as it was found.
    func leaveLab() async {
        // What an act under way changes can be undone only when it is known to be done; but nobody waits longer for the
        // end of a program.
        if let labTask { _ = await within(.seconds(5)) { await labTask.value } }
        labTask?.cancel()
        guard let lab else { return }
        self.lab = nil
        labTap.attach(nil)
        await lab.leave()
    }

    /// Writes what was done into a file.
    func saveLab(_ path: String) async {
        guard let text = await (lab ?? endedLab)?.scenario() else {
            return await queue.send(.postbox(.saving(.failed("Nothing was done in the lab yet."))))
        }
        await queue.send(.postbox(.saving(await blocking { LetterFile.save(text, to: path, overwrites: false) })))
    }
}
