import Dispatch
import NIOConcurrencyHelpers
import Platform

/// Reports that a file may have changed: it, or another one beside it, was written, replaced, created, moved or
/// deleted. The kernel reports it; there is no polling.
///
/// Editors replace the file, so its folder is watched, and the folder of a link's target. For a folder that does not
/// exist yet, the nearest existing one above it is watched.
final class FileWatch: Sendable {
    private struct State {
        var sources: [Source] = []
        var isBurst = false
        var isClosed = false
    }

    private let path: String
    private let changed: @Sendable () -> Void
    // A serial queue, so that events arrive one at a time.
    private let queue = DispatchQueue(label: "parley.configuration", qos: .utility)
    private let state = NIOLockedValueBox(State())

    /// Watches until ``close()``, and calls `changed` on a private queue, once per burst of changes. Nil if the system
    /// refuses.
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

    /// Watches the folders that currently lead to the file. If the system refuses, the earlier ones stay watched;
    /// returns false if none are.
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
        // An editor saves in several steps. The file is read only after the folders are watched again, so that no
        // change is missed.
        queue.asyncAfter(deadline: .now() + .milliseconds(100)) { [weak self] in
            if let self, watch() { changed() }
        }
    }

    /// The folders to watch, and for each whether to watch for files written in it.
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

/// Dispatch sources are thread-safe, although their type is not declared `Sendable`.
private struct Source: @unchecked Sendable {
    let base: any DispatchSourceProtocol
}

extension FileWatch {
    #if os(Linux)
        private static let ofFiles = UInt32(IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE)
        private static let ofFolder = UInt32(IN_CREATE | IN_MOVED_TO)
        private static let always = UInt32(IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)

        /// Watches folders by inotify; if true, also the files written in them.
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
                // A broken descriptor would fire forever.
                guard let self, Self.drain(descriptor) else { return source.base.cancel() }
                happened()
            }
            // The descriptor may be closed only once the source has stopped.
            source.base.setCancelHandler { _ = Platform.close(descriptor) }
            source.base.activate()
            return [source]
        }

        /// Discards the events, since the file is read again in any case; returns false on an error.
        private static func drain(_ descriptor: CInt) -> Bool {
            var buffer = [UInt8](repeating: 0, count: 4_096)
            while true {
                let count = read(descriptor, &buffer, buffer.count)
                if count > 0 { continue }
                return count < 0 && (errno == EAGAIN || errno == EINTR)
            }
        }
    #else
        /// Watches folders by kqueue, and the file itself, which may be written in place.
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
