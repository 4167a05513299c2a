import Testing

@testable import Relay

@Suite("Local store: what is left of a damaged one")
struct StoreCoverageTests {
    private func part(_ first: UInt64, _ last: UInt64, isEndWhole: Bool, isStartWhole: Bool) throws
        -> StoreCoverage.Part
    {
        let low = try #require(RowNumber.row(stream: 3, sequence: first))
        let high = try #require(RowNumber.row(stream: 3, sequence: last))
        return StoreCoverage.Part(newest: low...high, isEndWhole: isEndWhole, isStartWhole: isStartWhole)
    }

    @Test("B38 a cursor goes back to the last message that is there, and stays where nothing is missing")
    func end() throws {
        let coverage = StoreCoverage()
        let whole = coverage.place(
            of: try part(1, 90, isEndWhole: true, isStartWhole: true), cursor: 100, mark: nil)
        #expect(whole.cursor == 100 && whole.whole == 1...100)
        let cut = coverage.place(
            of: try part(1, 60, isEndWhole: false, isStartWhole: true), cursor: 100, mark: 80)
        #expect(cut.cursor == 60 && cut.whole == 1...60)
        let behind = coverage.place(
            of: try part(1, 60, isEndWhole: false, isStartWhole: true), cursor: 40, mark: nil)
        #expect(behind.cursor == 40 && behind.whole == 1...40)
    }

    @Test("B38 what lies before a hole is not shown as if it went on behind it")
    func hole() throws {
        let coverage = StoreCoverage()
        let holed = coverage.place(
            of: try part(50, 90, isEndWhole: true, isStartWhole: false), cursor: 100, mark: nil)
        #expect(holed.cursor == 100 && holed.whole == 50...100)
        let before = coverage.place(
            of: try part(50, 90, isEndWhole: true, isStartWhole: false), cursor: 20, mark: nil)
        #expect(before.cursor == 20 && before.whole == nil)
        var doubtful = coverage
        doubtful.isDoubtful = true
        let doubt = doubtful.place(
            of: try part(1, 90, isEndWhole: true, isStartWhole: true), cursor: 100, mark: nil)
        #expect(doubt.cursor == 100 && doubt.whole == nil)
    }

    @Test("Where no message is left, what was not read comes again")
    func nothing() {
        let coverage = StoreCoverage()
        let unread = coverage.place(of: nil, cursor: 100, mark: 80)
        #expect(unread.cursor == 80 && unread.whole == nil)
        let read = coverage.place(of: nil, cursor: 100, mark: 120)
        #expect(read.cursor == 100 && read.whole == nil)
        let unknown = coverage.place(
            of: StoreCoverage.Part(newest: nil, isEndWhole: false, isStartWhole: false), cursor: 100, mark: nil)
        #expect(unknown.cursor == 100 && unknown.whole == nil)
    }
}
