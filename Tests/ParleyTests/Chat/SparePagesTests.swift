import Testing

@testable import Parley

@Suite("The pages of the program's code")
struct SparePagesTests {
    @Test("Only what is like its file and stays so is given back")
    func choice() {
        func mapping(_ head: String, anonymous: Int = 0, swap: Int = 0) -> String {
            """
            \(head)
            Size:                 64 kB
            Rss:                  64 kB
            Anonymous:            \(anonymous) kB
            Swap:                 \(swap) kB
            VmFlags: rd ex mr mw me

            """
        }
        let mappings = [
            mapping("00400000-00500000 r-xp 00000000 fd:01 42                         /usr/bin/my program"),
            mapping("00500000-00600000 r--p 00100000 fd:01 42                         /usr/bin/parley"),
            // The loader has put addresses here, and here, where they were written out.
            mapping("00600000-00700000 r--p 00200000 fd:01 42                         /usr/bin/parley", anonymous: 8),
            mapping("00700000-00800000 r--p 00300000 fd:01 42                         /usr/bin/parley", swap: 4),
            mapping("00800000-00900000 rw-p 00400000 fd:01 42                         /usr/bin/parley"),
            mapping("00900000-00a00000 r--s 00000000 fd:01 43                         /home/alice/store.sqlite-shm"),
            mapping("00a00000-00b00000 r--p 00000000 00:00 0 "),
            mapping("00b00000-00c00000 r--p 00000000 00:00 0                          [vvar]"),
            mapping("7f0000000000-7f0000001000 r-xp 00000000 fd:01 44                 /lib/libc.so.6"),
        ]
        let found = SparePages.dispensable(in: mappings.joined())
        #expect(found == [0x400000..<0x500000, 0x500000..<0x600000, 0x7f00_0000_0000..<0x7f00_0000_1000])
        for text in ["", "garbage", "Rss: 3 kB\nAnonymous:", "zz-yy r-xp 0 0 0 /x", "2-1 r-xp 0 0 0 /x\nRss: 1 kB"] {
            #expect(SparePages.dispensable(in: text).isEmpty)
        }
    }
}
