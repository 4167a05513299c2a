import Platform

/// How the kernel treats what is typed into a terminal (termios), as far as a person would notice.
public struct LineDiscipline: Hashable, Sendable, CustomStringConvertible {
    /// Lines are edited by the kernel (ICANON).
    public var isCanonical: Bool
    /// What is typed is shown (ECHO).
    public var echoes: Bool
    /// ^C, ^Z and ^\ are signals (ISIG).
    public var hasSignalKeys: Bool
    /// A line feed also returns to column 0 (OPOST and ONLCR).
    public var returnsOnLineFeed: Bool
    /// Enter is read as a line feed (ICRNL).
    public var readsEnterAsLineFeed: Bool

    /// Whether a shell's person would find everything in its place.
    public var isSane: Bool { isCanonical && echoes && hasSignalKeys && returnsOnLineFeed && readsEnterAsLineFeed }

    /// Each property by name.
    public var description: String {
        "canonical \(isCanonical), echo \(echoes), signal keys \(hasSignalKeys), "
            + "line feed returns \(returnsOnLineFeed), enter is line feed \(readsEnterAsLineFeed)"
    }

    init?(terminal: Int32) {
        var modes = termios()
        guard tcgetattr(terminal, &modes) == 0 else { return nil }
        func has(_ flags: tcflag_t, _ bits: Int32) -> Bool { flags & tcflag_t(bits) == tcflag_t(bits) }
        isCanonical = has(modes.c_lflag, Int32(ICANON))
        echoes = has(modes.c_lflag, Int32(ECHO))
        hasSignalKeys = has(modes.c_lflag, Int32(ISIG))
        returnsOnLineFeed = has(modes.c_oflag, Int32(OPOST | ONLCR))
        readsEnterAsLineFeed = has(modes.c_iflag, Int32(ICRNL))
    }
}
