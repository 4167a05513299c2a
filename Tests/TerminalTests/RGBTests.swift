import Testing

@testable import Terminal

@Suite("Colours as they are seen")
struct RGBTests {
    @Test(
        "Contrast is WCAG's ratio",
        arguments: [
            (0x000000, 0xFFFFFF, 21), (0xFFFFFF, 0xFFFFFF, 1), (0x767676, 0xFFFFFF, 4.54), (0x777777, 0xFFFFFF, 4.48),
            (0xFF0000, 0xFFFFFF, 4.00), (0x0000FF, 0xFFFFFF, 8.59), (0x00FF00, 0x000000, 15.30),
        ] as [(UInt32, UInt32, Double)])
    func contrast(text: UInt32, ground: UInt32, ratio: Double) {
        #expect(abs(RGB(text).contrast(with: RGB(ground)) - ratio) < 0.01)
        #expect(RGB(text).contrast(with: RGB(ground)) == RGB(ground).contrast(with: RGB(text)))
    }

    @Test(
        "A colour has the place in OKLab that its inventor gives it",
        arguments: [
            (0xFFFFFF, 1.000, 0.000, 0.000), (0x000000, 0, 0, 0), (0xFF0000, 0.628, 0.225, 0.126),
            (0x00FF00, 0.866, -0.234, 0.179), (0x0000FF, 0.452, -0.032, -0.312),
        ] as [(UInt32, Double, Double, Double)])
    func perceived(number: UInt32, lightness: Double, greenRed: Double, blueYellow: Double) {
        let place = RGB(number).perceived
        #expect(abs(place.lightness - lightness) < 0.001)
        #expect(abs(place.greenRed - greenRed) < 0.001)
        #expect(abs(place.blueYellow - blueYellow) < 0.001)
    }

    @Test("Distances: none to itself, the whole scale from black to white")
    func distance() {
        #expect(RGB(0xAF5F5F).distance(to: RGB(0xAF5F5F)) == 0)
        #expect(abs(RGB.black.distance(to: .white) - 1) < 0.001)
        #expect(RGB(0xFF0000).distance(to: RGB(0xFE0000)) < 0.02)
    }

    @Test("Mixing goes from one colour to the other")
    func mixing() {
        #expect(RGB(0x204060).mixed(with: .white, share: 0) == RGB(0x204060))
        #expect(RGB(0x204060).mixed(with: .white, share: 2) == .white)
        #expect(RGB.black.mixed(with: .white, share: 0.5) == RGB(0x808080))
    }

    @Test("The palette of 256 from its 17th entry on; the first sixteen are the terminal's own")
    func palette() {
        #expect(RGB(paletteEntry: 15) == nil)
        #expect(RGB(paletteEntry: 16) == .black)
        #expect(RGB(paletteEntry: 208) == RGB(0xFF8700))
        #expect(RGB(paletteEntry: 231) == .white)
        #expect(RGB(paletteEntry: 232) == RGB(0x080808))
        #expect(RGB(paletteEntry: 255) == RGB(0xEEEEEE))
    }
}
