import Terminal

/// A web address in a text. It is shown, numbered and copied for the person; nothing here opens it or requests it.
struct Link: Hashable, Sendable {
    /// The address as shown, which is where it leads.
    let text: String
    let host: String
    /// Whether something before the host can be taken for it, as in `https://bank.example@elsewhere.example`.
    let hidesHost: Bool

    /// A longer address is ordinary text.
    static let characterLimit = 2_048

    /// What a terminal may be told to open; nil if the person may take it for another host's.
    var target: LinkTarget? { hidesHost ? nil : LinkTarget(text) }

    /// The picture or other file that it leads to, judging by its path's ending: `image cat.png`. Nothing is requested;
    /// a long name is cut in its middle, so that its ending stays.
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
    /// Endings that web pages do not have.
    private static let fileEndings: Set<String> = [
        "7z", "apk", "avi", "bz2", "csv", "deb", "diff", "dmg", "doc", "docx", "epub", "exe", "flac", "gz",
        "iso", "jar", "json", "log", "m4a", "md", "mkv", "mov", "mp3", "mp4", "msi", "odp", "ods", "odt", "ogg",
        "opus", "patch", "pdf", "ppt", "pptx", "rar", "rpm", "rtf", "tar", "tgz", "tsv", "txt", "wav", "webm",
        "xls", "xlsx", "xml", "xz", "yaml", "yml", "zip", "zst",
    ]

    /// The links of a line, and their places in its clusters. They are found in what is drawn rather than in what was
    /// sent, so that no invisible character takes part.
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

    /// The end of an `http://` or `https://` that begins at an index and does not continue a word; nil if there is
    /// none.
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

    /// The end of the characters that an address can consist of, or the first parenthesis that is closed and was not
    /// opened.
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

    /// The end of the address: punctuation at its end belongs to the sentence.
    private static func endOfLink(_ clusters: [Cluster], _ place: Range<Int>) -> Int {
        var end = place.upperBound
        while end > place.lowerBound, "?!.,:;'*_~([".utf8.contains(clusters[end - 1].ascii) { end -= 1 }
        return end
    }

    /// Whether a character beyond ASCII can be part of an address rather than of the sentence: `https://例え.jp/。` ends
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
