import Terminal

/// An address of the web in a text. It is shown, numbered and handed to the person; nothing here opens it or asks for
/// it.
struct Link: Hashable, Sendable {
    /// The address as it is shown, which is where it leads.
    let text: String
    let host: String
    /// Whether something stands before the host that can be taken for it, as in
    /// `https://bank.example@elsewhere.example`.
    let hidesHost: Bool

    /// A longer one is text as any other.
    static let characterLimit = 2_048

    /// What a terminal may be told to open; nil where the person may take it for another host's.
    var target: LinkTarget? { hidesHost ? nil : LinkTarget(text) }

    /// The picture or other file to which it leads, if its path ends as one's does: `image cat.png`. Nothing is asked
    /// for; a long name is cut in its middle, so that its ending stays.
    var file: String? {
        guard let scheme = text.firstRange(of: "://") else { return nil }
        let address = text[scheme.upperBound...].prefix { $0 != "?" && $0 != "#" }
        guard let slash = address.lastIndex(of: "/") else { return nil }
        let name = address[slash...].dropFirst()
        guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return nil }
        let ending = name[dot...].dropFirst().lowercased()
        let isImage = Self.imageEndings.contains(ending)
        guard isImage || Self.fileEndings.contains(ending) else { return nil }
        return "\(isImage ? "image" : "file") \(SafeText(String(name)).shortened(columns: 64))"
    }

    private static let imageEndings: Set<String> = [
        "avif", "bmp", "gif", "heic", "ico", "jpeg", "jpg", "png", "svg", "tif", "tiff", "webp",
    ]
    /// Endings that pages do not have.
    private static let fileEndings: Set<String> = [
        "7z", "apk", "avi", "bz2", "csv", "deb", "diff", "dmg", "doc", "docx", "epub", "exe", "flac", "gz",
        "iso", "jar", "json", "log", "m4a", "md", "mkv", "mov", "mp3", "mp4", "msi", "odp", "ods", "odt", "ogg",
        "opus", "patch", "pdf", "ppt", "pptx", "rar", "rpm", "rtf", "tar", "tgz", "tsv", "txt", "wav", "webm",
        "xls", "xlsx", "xml", "xz", "yaml", "yml", "zip", "zst",
    ]

    /// Where a line has links, in the clusters of the line. They are looked for in what is drawn and not in what was
    /// sent, so that no character takes part that nobody sees.
    static func places(in line: SafeText) -> [(place: Range<Int>, link: Link)] {
        let clusters = line.clusters
        var found: [(place: Range<Int>, link: Link)] = []
        var index = 0
        while index < clusters.count {
            guard let begin = endOfScheme(clusters, from: index) else {
                index += 1
                continue
            }
            let stop = stop(clusters, from: begin)
            let end = endOfLink(clusters, begin..<stop)
            if let link = Link(clusters, index..<end, from: begin) { found.append((index..<end, link)) }
            index = stop
        }
        return found
    }

    // MARK: Its parts

    private init?(_ clusters: [Cluster], _ place: Range<Int>, from begin: Int) {
        guard place.count <= Self.characterLimit, begin < place.upperBound else { return nil }
        let authority = clusters[begin..<place.upperBound].prefix { !"/?#".utf8.contains($0.ascii) }
        let at = authority.lastIndex { $0.ascii == UInt8(ascii: "@") }
        let host = at.map { authority[($0 + 1)...] } ?? authority
        guard host.contains(where: { $0.ascii == 0 || Self.isWord($0) }) else { return nil }
        text = clusters[place].reduce(into: "") { $0 += $1.text }
        self.host = host.reduce(into: "") { $0 += $1.text }
        hidesHost = at != nil
    }

    private static let schemes = [Array("http://".utf8), Array("https://".utf8)]

    /// Where what follows `http://` or `https://` begins, where one of them begins there and no word goes on.
    private static func endOfScheme(_ clusters: [Cluster], from index: Int) -> Int? {
        guard small(clusters[index]) == UInt8(ascii: "h"), index == 0 || !isWord(clusters[index - 1]) else {
            return nil
        }
        for scheme in schemes {
            let end = index + scheme.count
            if end < clusters.count, clusters[index..<end].lazy.map(small).elementsEqual(scheme) { return end }
        }
        return nil
    }

    /// Where the characters end of which an address can consist: at a parenthesis that is closed and was not opened,
    /// too.
    private static func stop(_ clusters: [Cluster], from begin: Int) -> Int {
        var (round, square) = (0, 0)
        for (place, cluster) in clusters[begin...].enumerated() {
            switch cluster.ascii {
            case UInt8(ascii: "("): round += 1
            case UInt8(ascii: "["): square += 1
            case UInt8(ascii: ")"):
                if round == 0 { return begin + place }
                round -= 1
            case UInt8(ascii: "]"):
                if square == 0 { return begin + place }
                square -= 1
            case 0: if !isPart(cluster) { return begin + place }
            case let byte: if byte <= 0x20 || "\"<>\\^`{|}".utf8.contains(byte) { return begin + place }
            }
        }
        return clusters.count
    }

    /// Where the address ends: punctuation at its end is the sentence's.
    private static func endOfLink(_ clusters: [Cluster], _ place: Range<Int>) -> Int {
        var end = place.upperBound
        while end > place.lowerBound, "?!.,:;'*_~([".utf8.contains(clusters[end - 1].ascii) { end -= 1 }
        return end
    }

    /// Whether a character beyond ASCII can be one of an address, rather than the sentence's: `https://例え.jp/。` ends
    /// before the full stop.
    private static func isPart(_ cluster: Cluster) -> Bool {
        guard let letter = cluster.letter, letter != "\u{FFFD}" else { return false }
        // An ASCII character with marks.
        if letter.isASCII { return letter.properties.isAlphabetic }
        switch letter.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .nonspacingMark,
            .spacingMark, .enclosingMark, .decimalNumber, .letterNumber, .otherNumber, .otherSymbol:
            return true
        default: return false
        }
    }

    private static func isWord(_ cluster: Cluster) -> Bool {
        let byte = small(cluster)
        return (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == UInt8(ascii: "_")
    }

    private static func small(_ cluster: Cluster) -> UInt8 {
        (0x41...0x5A).contains(cluster.ascii) ? cluster.ascii + 0x20 : cluster.ascii
    }
}
