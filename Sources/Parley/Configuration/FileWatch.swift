import Dispatch
import NIOConcurrencyHelpers
import Platform

/// Tells that a file may have changed: it was written, replaced, made, moved or deleted, or another one beside it was.
/// The kernel says so; nothing is asked meanwhile, and no clock runs.
///
/// Editors put another file in the old one's place, so the folder is what is watched: that of the name, and that of the
/// file which a link leads to. Of a folder that is not there yet, the nearest one above it is watched.
final class FileWatch: Sendable {
    private let folders: FolderWatch

    /// Watches from now on, until ``close()``; nil where the system refuses.
    ///
    /// - Parameter changed: called on a queue of its own, once for each burst.
    init?(_ path: String, changed: @escaping @Sendable () -> Void) {
        // The system tells of files through Dispatch alone, which serves the watch's state one event at a time here.
        let queue = DispatchQueue(label: "parley.configuration", qos: .utility)
        let isBurst = NIOLockedValueBox(false)
        let folders = FolderWatch(queue) { folders in
            let isFirst = isBurst.withLockedValue { isBurst in
                defer { isBurst = true }
                return !isBurst
            }
            guard isFirst else { return }
            // An editor saves in several steps.
            queue.asyncAfter(deadline: .now() + .milliseconds(100)) {
                isBurst.withLockedValue { $0 = false }
                // What leads to the file may be other folders by now.
                if folders.watch(Self.places(of: path), file: path) { changed() }
            }
        }
        guard let folders else { return nil }
        _ = folders.watch(Self.places(of: path), file: path)
        self.folders = folders
    }

    deinit { folders.close() }

    func close() { folders.close() }

    /// The folders to watch, and whether for files that are written in them.
    static func places(of path: String) -> [String: Bool] {
        var folder = Self.folder(of: path)
        var places = [folder: true]
        while access(folder, F_OK) != 0, folder != "/", folder != "." {
            folder = Self.folder(of: folder)
            places = [folder: false]
        }
        if let real = realpath(path, nil) {
            places[Self.folder(of: String(cString: real))] = true
            free(real)
        }
        return places
    }

    private static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}

/// Dispatch's sources may be used from any thread, which their type does not say.
private struct Source<Base>: @unchecked Sendable {
    let base: Base
}

#if os(Linux)
    /// Folders, watched by inotify.
    private final class FolderWatch: Sendable {
        private struct State {
            /// The kernel's numbers of the folders, by their paths.
            var marks: [String: CInt] = [:]
            var isClosed = false
        }

        private static let ofFiles = UInt32(IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE)
        private static let ofFolder = UInt32(IN_CREATE | IN_MOVED_TO)
        private static let always = UInt32(IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)

        private let descriptor: CInt
        private let source: Source<any DispatchSourceRead>
        private let state = NIOLockedValueBox(State())

        init?(_ queue: DispatchQueue, _ happened: @escaping @Sendable (FolderWatch) -> Void) {
            let descriptor = inotify_init1(CInt(O_NONBLOCK | O_CLOEXEC))
            guard descriptor >= 0 else { return nil }
            self.descriptor = descriptor
            let source = Source(base: DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue))
            self.source = source
            source.base.setEventHandler { [weak self] in
                // A descriptor that is broken would wake this for ever.
                guard let self, Self.drain(descriptor) else { return source.base.cancel() }
                happened(self)
            }
            // The number may be used again only once the source has stopped listening.
            source.base.setCancelHandler { _ = Platform.close(descriptor) }
            source.base.activate()
        }

        /// Watches these folders and no others; for those that are true, the files in them, whatever their names.
        ///
        /// - Returns: false when it is closed.
        func watch(_ folders: [String: Bool], file: String) -> Bool {
            state.withLockedValue { state in
                guard !state.isClosed else { return false }
                for (folder, mark) in state.marks where folders[folder] == nil {
                    inotify_rm_watch(descriptor, mark)
                    state.marks[folder] = nil
                }
                for (folder, hasFile) in folders {
                    // Of a folder that was watched already this changes what is told of it; one that was made anew is
                    // another.
                    let mark = inotify_add_watch(
                        descriptor, folder, (hasFile ? Self.ofFiles : Self.ofFolder) | Self.always)
                    state.marks[folder] = mark >= 0 ? mark : nil
                }
                return true
            }
        }

        func close() {
            state.withLockedValue { $0.isClosed = true }
            source.base.cancel()
        }

        /// Throws away what was told, since the file is read again in any case; false when nothing more can come.
        private static func drain(_ descriptor: CInt) -> Bool {
            var buffer = [UInt8](repeating: 0, count: 4_096)
            while true {
                let count = read(descriptor, &buffer, buffer.count)
                if count > 0 { continue }
                return count < 0 && (errno == EAGAIN || errno == EINTR)
            }
        }
    }
#else
    /// Folders, watched by the kernel's queue; and a file that may be written in place.
    private final class FolderWatch: Sendable {
        private struct State {
            var sources: [Source<any DispatchSourceFileSystemObject>] = []
            var isClosed = false
        }

        private let queue: DispatchQueue
        private let happened: @Sendable (FolderWatch) -> Void
        private let state = NIOLockedValueBox(State())

        init?(_ queue: DispatchQueue, _ happened: @escaping @Sendable (FolderWatch) -> Void) {
            self.queue = queue
            self.happened = happened
        }

        /// Watches these folders and this file, and no others.
        ///
        /// - Returns: false when it is closed.
        func watch(_ folders: [String: Bool], file: String) -> Bool {
            state.withLockedValue { state in
                guard !state.isClosed else { return false }
                for source in state.sources { source.base.cancel() }
                state.sources = (Array(folders.keys) + [file]).compactMap(source(of:))
                return true
            }
        }

        private func source(of path: String) -> Source<any DispatchSourceFileSystemObject>? {
            let descriptor = open(path, O_EVTONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return nil }
            let source = DispatchSource.makeFileSystemObjectSource(
                fileDescriptor: descriptor, eventMask: [.write, .delete, .rename], queue: queue)
            source.setEventHandler { [weak self] in
                guard let self else { return }
                happened(self)
            }
            source.setCancelHandler { _ = Darwin.close(descriptor) }
            source.activate()
            return Source(base: source)
        }

        func close() {
            state.withLockedValue { state in
                state.isClosed = true
                for source in state.sources { source.base.cancel() }
                state.sources = []
            }
        }
    }
#endif
