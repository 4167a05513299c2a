import Foundation
import NIOConcurrencyHelpers
import TestSupport
import Testing

@testable import Parley

@Suite("Watching a file", .realProcesses)
struct FileWatchTests {
    private let folder: TemporaryDirectory
    private let told = NIOLockedValueBox(0)

    init() throws { folder = try TemporaryDirectory("watch") }

    private func watch(_ name: String) throws -> FileWatch {
        let watch = FileWatch(folder.path(name)) { [told] in told.withLockedValue { $0 += 1 } }
        return try #require(watch)
    }

    /// Does something, and waits until it is told.
    private func tells(_ what: String, line: Int = #line, _ act: () throws -> Void) async throws {
        let before = told.withLockedValue { $0 }
        try act()
        try await eventually("to be told of \(what)") { told.withLockedValue { $0 } > before }
    }

    private func makeFolder(_ name: String) throws {
        try FileManager.default.createDirectory(atPath: folder.path(name), withIntermediateDirectories: true)
    }

    @Test("A file that is made, written, replaced, moved away or deleted is told of")
    func kinds() async throws {
        let watch = try watch("config.json")
        let path = folder.path("config.json")
        try await tells("a new file") { try folder.write("{}", to: "config.json") }
        try await tells("one written in place") {
            let handle = try #require(FileHandle(forWritingAtPath: path))
            try handle.write(contentsOf: Data("{ }".utf8))
            try handle.close()
        }
        try await tells("one in its place") {
            try folder.write("{ mutes: [] }", to: "other")
            #expect(rename(folder.path("other"), path) == 0)
        }
        try await tells("one that is moved away") { #expect(rename(path, folder.path("old")) == 0) }
        try await tells("one that is back") { #expect(rename(folder.path("old"), path) == 0) }
        try await tells("one that is deleted") { #expect(unlink(path) == 0) }
        watch.close()
    }

    @Test("The file that a link leads to is watched, and the link itself")
    func links() async throws {
        try makeFolder("dotfiles")
        try makeFolder("config")
        try folder.write("{}", to: "dotfiles/one.json")
        try folder.write("{}", to: "dotfiles/two.json")
        let link = folder.path("config/config.json")
        #expect(symlink(folder.path("dotfiles/one.json"), link) == 0)
        let watch = try watch("config/config.json")
        try await tells("what the link leads to") { try folder.write("{ }", to: "dotfiles/one.json") }
        try await tells("another link") {
            #expect(symlink(folder.path("dotfiles/two.json"), folder.path("config/new")) == 0)
            #expect(rename(folder.path("config/new"), link) == 0)
        }
        watch.close()
    }

    @Test("Folders that are made, and made again, on the way to the file are followed")
    func folders() async throws {
        let watch = try watch("a/b/config.json")
        try await tells("the folders") { try makeFolder("a/b") }
        try await tells("the file in them") { try folder.write("{}", to: "a/b/config.json") }
        try await tells("the end of all of them") { try FileManager.default.removeItem(atPath: folder.path("a")) }
        try await tells("new folders") { try makeFolder("a/b") }
        try await tells("the new file") { try folder.write("{}", to: "a/b/config.json") }
        watch.close()
    }

    @Test("Of a file without its folder the nearest folder above is watched, and only for what is made there")
    func places() throws {
        try makeFolder("there")
        #expect(FileWatch.places(of: folder.path("there/config.json")) == [folder.path("there"): true])
        #expect(FileWatch.places(of: folder.path("none/at/all/config.json")) == [folder.path: false])
        #expect(FileWatch.places(of: "config.json") == [".": true])
    }
}
