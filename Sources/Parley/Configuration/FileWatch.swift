import Dispatch
import NIOConcurrencyHelpers
import Platform

/// Tells that a file may have changed: it was written, replaced, made, moved or deleted, or another one beside it was.
/// The kernel says so; nothing is asked meanwhile, and no clock runs.
///
/// Editors put another file in the old one's place, so the folder is what is watched: that of the name, and that of the
/// file which a link leads to. Of a folder that is not there yet, the nearest one above it is watched.
final class FileWatch: Sendable {
    private struct State {
        var sources: [Source] = []
        var isBurst = false
        var isClosed = false
    }

    private let path: String
    private let changed: @Sendable () -> Void
    // The system tells of files through Dispatch alone, which hands over one event at a time here.
    private let queue = DispatchQueue(label: "parley.configuration", qos: .utility)
    private let state = NIOLockedValueBox(State())

    /// Watches from now on, until ``close()``, and calls `changed` on a queue of its own, once for each burst. Nil
    /// where the system refuses.
    init?(_ path: String, changed: @escaping @Sendable () -> Void) {
        self.path = path
        self.changed = changed
        guard watch() else { return nil }
    }

    deinit { close() }

    func close() {
        state.withLockedValue { state in
            state.isClosed = true
            for source in state.sources { source.base.cancel() }
            state.sources = []
        }
    }

    /// Watches the folders that lead to the file now. If the system refuses, those of before stay; false if nothing is
    /// watched.
    private func watch() -> Bool {
        state.withLockedValue { state in
            guard !state.isClosed else { return false }
            state.isBurst = false
            guard let sources = sources(of: Self.places(of: path)) else { return !state.sources.isEmpty }
            for source in state.sources { source.base.cancel() }
            state.sources = sources
            return true
        }
    }

    private func happened() {
        let isFirst = state.withLockedValue { state in
            defer { state.isBurst = true }
            return !state.isBurst
        }
        guard isFirst else { return }
        // An editor saves in several steps. What is told before the folders are watched anew is read after it.
        queue.asyncAfter(deadline: .now() + .milliseconds(100)) { [weak self] in
            if let self, watch() { changed() }
        }
    }

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
private struct Source: @unchecked Sendable {
    let base: any DispatchSourceProtocol
}

extension FileWatch {
    #if os(Linux)
        private static let ofFiles = UInt32(IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE)
        private static let ofFolder = UInt32(IN_CREATE | IN_MOVED_TO)
        private static let always = UInt32(IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)

        /// These folders, watched by inotify; for those that are true, the files in them, whatever their names.
        private func sources(of folders: [String: Bool]) -> [Source]? {
            let descriptor = inotify_init1(CInt(O_NONBLOCK | O_CLOEXEC))
            guard descriptor >= 0 else { return nil }
            let marks = folders.map { folder, hasFile in
                inotify_add_watch(descriptor, folder, (hasFile ? Self.ofFiles : Self.ofFolder) | Self.always)
            }
            guard marks.contains(where: { $0 >= 0 }) else {
                _ = Platform.close(descriptor)
                return nil
            }
            let source = Source(base: DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue))
            source.base.setEventHandler { [weak self] in
                // A descriptor that is broken would wake this for ever.
                guard let self, Self.drain(descriptor) else { return source.base.cancel() }
                happened()
            }
            // The number may be used again only once the source has stopped listening.
            source.base.setCancelHandler { _ = Platform.close(descriptor) }
            source.base.activate()
            return [source]
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
    #else
        /// These folders, watched by the kernel's queue; and the file, which may be written in place.
        private func sources(of folders: [String: Bool]) -> [Source]? {
            (Array(folders.keys) + [path]).compactMap { path in
                let descriptor = open(path, O_EVTONLY | O_CLOEXEC)
                guard descriptor >= 0 else { return nil }
                let source = Source(
                    base: DispatchSource.makeFileSystemObjectSource(
                        fileDescriptor: descriptor, eventMask: [.write, .delete, .rename], queue: queue))
                source.base.setEventHandler { [weak self] in self?.happened() }
                source.base.setCancelHandler { _ = Darwin.close(descriptor) }
                source.base.activate()
                return source
            }
        }
    #endif
}
