import Terminal
import Testing

@testable import Parley

@Suite("Goldens")
struct GoldenFrameTests {
    private static func frame(_ desk: Desk) -> Canvas {
        render(desk.model, size: desk.model.size, now: desk.model.now.instant, theme: GoldenFrame.theme)
    }

    @Test("Each role has a letter of its own, and none is a sign")
    func letters() {
        let letters = ThemeRole.allCases.map { GoldenFrame.letter($0) }
        #expect(Set(letters + ["n"]).count == letters.count + 1)
        #expect(letters.allSatisfy { $0.isLowercase })
        for role in ThemeRole.allCases {
            #expect(GoldenFrame.letter(GoldenFrame.theme[role]) == GoldenFrame.letter(role))
        }
    }

    @Test("A difference names row and column, and what was expected and found")
    func differences() {
        var frame = Canvas(size: Size(rows: 3, columns: 10))
        let theme = GoldenFrame.theme
        frame.write(SafeText("日本x"), row: 0, column: 0, style: theme.title)
        frame.write("good", row: 1, column: 2, style: theme.emphasized(theme.failure))
        #expect(GoldenFrame.styles(frame) == ["0: t5", "1: .2 F4"])
        #expect(
            GoldenFrame.differences(frame, text: "日本y\n  good\n", styles: "0: t4 c1\n1: .2 f2 F2") == [
                "row 0, column 4: expected “y”, found “x” in “日本x”",
                "row 0, column 4, “x”: expected connected (c), found title (t)",
                "row 1, columns 2 to 3, “go”: expected failure (f), found failure in bold (F)",
            ])
        #expect(
            GoldenFrame.differences(frame, text: "日本x\n  good bye", styles: nil) == [
                "the golden has 2 rows, the frame 3", "row 1, column 7: expected “b”, found “ ” in “  good”",
            ])
        for styles in ["0 t5", "3: t1", "1-0: t1", "0: t11", "0: t5 c6", "0: 5t"] {
            let found = GoldenFrame.differences(frame, text: "日本x\n  good\n", styles: styles)
            #expect(found == ["the styles cannot be read, or name cells outside the frame"], "\(styles)")
        }
    }
}
