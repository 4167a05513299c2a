import CProcess

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Memory that the program has and does not need: pages of its code and constants, which the kernel can read from their
/// files again at any time, and what was allocated once and is free.
///
/// Most of what a start runs through is not needed afterwards, and counts as the program's memory all the same.
enum SparePages {
    /// Keeps large messages from leaving as much memory behind as they took. For the beginning of the program.
    static func keepFew() { cprocess_return_large_blocks() }

    /// Gives the pages back. Those that are needed come again with the first use, in some microseconds each.
    static func giveBack() {
        #if os(Linux)
            giveBackFilePages()
        #endif
        // Last, since reading what the kernel tells has allocated as well.
        cprocess_trim_memory()
    }

    #if os(Linux)
        private static func giveBackFilePages() {
            guard let mappings = try? Data(contentsOf: URL(filePath: "/proc/self/smaps")) else { return }
            for range in dispensable(in: String(decoding: mappings, as: UTF8.self)) {
                // A kernel that refuses has kept the pages.
                _ = madvise(UnsafeMutableRawPointer(bitPattern: range.lowerBound), range.count, MADV_DONTNEED)
            }
        }
    #endif

    /// Where nothing can be lost: private mappings of files that cannot be written to and of whose pages none was
    /// changed, as those are that the loader has put addresses into.
    ///
    /// - Parameter mappings: what the kernel tells of them (`/proc/PID/smaps`).
    static func dispensable(in mappings: String) -> [Range<UInt>] {
        var found: [Range<UInt>] = []
        var present: Range<UInt>?
        for line in mappings.utf8.split(separator: UInt8(ascii: "\n")) {
            let words = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: true).map { Substring($0) }
            guard let first = words.first, let second = words.dropFirst().first else { continue }
            if !first.hasSuffix(":") {
                present.map { found.append($0) }
                present = isReadOnlyFile(words) ? range(first) : nil
            } else if ["Anonymous:", "Swap:"].contains(first), second != "0" {
                present = nil
            }
        }
        present.map { found.append($0) }
        return found
    }

    private static func isReadOnlyFile(_ words: [Substring]) -> Bool {
        // Addresses, permissions, offset, device, inode, path.
        guard words.count >= 6, words[5].hasPrefix("/") else { return false }
        return words[1].hasPrefix("r-") && words[1].hasSuffix("p")
    }

    private static func range(_ text: Substring) -> Range<UInt>? {
        let ends = text.split(separator: "-").compactMap { UInt($0, radix: 16) }
        guard ends.count == 2, ends[0] < ends[1] else { return nil }
        return ends[0]..<ends[1]
    }
}
