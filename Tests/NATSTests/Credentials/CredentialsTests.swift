import Platform
import Testing

@testable import NATS

@Suite("Credentials")
struct CredentialsTests {
    private let jwt = CredentialsVectors.userToken
    private let seed = CredentialsVectors.user.seed

    private var fileText: String {
        """
        -----BEGIN NATS USER JWT-----
        \(jwt)
        ------END NATS USER JWT------

        ************************* IMPORTANT *************************
        NKEY Seed printed below can be used to sign and prove identity.

        -----BEGIN USER NKEY SEED-----
        \(seed)
        ------END USER NKEY SEED------

        *************************************************************
        """
    }

    @Test("A credentials file is read, with either line ending, and written back")
    func parsing() throws {
        for text in [
            fileText, fileText.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\r\n"),
        ] {
            let credentials = try Credentials(parsing: text)
            #expect(credentials.jwt == jwt)
            #expect(credentials.keyPair.publicKey.text == CredentialsVectors.user.publicKey)
            #expect(try credentials.claims().name == "alice")
            #expect(try Credentials(parsing: credentials.fileText()) == credentials)
        }
        #expect(try Credentials(jwt: jwt, seed: seed) == Credentials(parsing: fileText))
    }

    @Test("Credentials are read as people paste them: with a byte order mark and blanks around what counts")
    func pasted() throws {
        let credentials = try Credentials(parsing: fileText)
        #expect(try Credentials(parsing: "\u{FEFF}" + fileText) == credentials)
        for (before, after) in [("\t ", " \t"), ("\u{A0}", "\u{200B}"), ("\u{FEFF}", "\r"), ("\u{B}\u{C}", "\n")] {
            #expect(try Credentials(jwt: before + jwt + after, seed: before + seed + after) == credentials)
            let text = fileText.replacing(jwt, with: before + jwt + after)
            #expect(try Credentials(parsing: text) == credentials)
        }
        // What a blank parts is two texts.
        #expect(throws: CredentialsError.self) {
            try Credentials(jwt: jwt, seed: "\(seed.prefix(9)) \(seed.dropFirst(9))")
        }
        for mark in [[], [0xFF, 0xFE]] as [[UInt8]] {
            let wide = mark + fileText.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
            #expect(throws: CredentialsError.otherEncoding("UTF-16")) { try Credentials(fileText: wide) }
        }
        #expect("\(CredentialsError.otherEncoding("UTF-16"))".contains("UTF-16: save them as UTF-8"))
    }

    @Test("B2: what is missing or does not fit is named, never shown")
    func refusals() throws {
        let other = NKeyPair.generate(.user)
        let cases: [(String, CredentialsError)] = [
            ("", .missingToken), (seed, .missingToken), ("-----BEGIN NATS USER JWT-----\n\(jwt)\n", .missingToken),
            ("-----BEGIN NATS USER JWT-----\n\(jwt)\n------END NATS USER JWT------\n", .missingSeed),
            (fileText.replacing(seed, with: ""), .missingSeed),
            (fileText.replacing(seed, with: String(seed.dropLast()) + "A"), .malformedSeed(.badChecksum)),
            (fileText.replacing(seed, with: CredentialsVectors.account.seed), .malformedSeed(.wrongKind)),
            (fileText.replacing(seed, with: other.withSeedText { $0 }), .mismatchedSeed),
            (fileText.replacing(jwt, with: "a.b"), .malformedToken("it has not three parts")),
            (fileText.replacing(jwt, with: "\(jwt)\n\(jwt)"), .missingToken),
        ]
        for (text, expected) in cases {
            #expect(throws: expected) { try Credentials(parsing: text) }
            #expect(!"\(expected)".contains(seed.prefix(8)) && !"\(expected)".contains(jwt.prefix(20)))
        }
        let credentials = try Credentials(parsing: fileText)
        var dumped = ""
        dump(credentials, to: &dumped)
        for text in ["\(credentials)", String(reflecting: credentials), dumped] {
            #expect(!text.contains(seed.prefix(10)) && !text.contains(jwt.prefix(20)))
        }
    }

    @Test("B4: a file that others can read is refused, and the error names the chmod that mends it")
    func fileModes() throws {
        let folder = try FileManager.default.temporaryFolder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/alice.creds"
        try Data(fileText.utf8).write(to: URL(filePath: path))
        for mode in [0o640, 0o604, 0o644, 0o660, 0o601] as [mode_t] {
            #expect(chmod(path, mode) == 0)
            #expect(throws: CredentialsError.fileTooOpen(path: path)) { try Credentials.load(path: path) }
        }
        #expect(CredentialsError.fileTooOpen(path: path).description.contains("chmod 600 \(path)"))
        #expect(chmod(path, 0o600) == 0)
        #expect(try Credentials.load(path: path).jwt == jwt)
        #expect(chmod(path, 0o400) == 0)
        #expect(try Credentials.load(path: path).jwt == jwt)
        let missing = folder + "/none"
        #expect(throws: CredentialsError.fileNotFound(path: missing)) { try Credentials.load(path: missing) }
        #expect(throws: CredentialsError.fileUnreadable(path: folder, reason: "it is not a file")) {
            try Credentials.load(path: folder)
        }
        #expect(chmod(path, 0o600) == 0)
        try Data(repeating: 65, count: Credentials.maximumLength + 1).write(to: URL(filePath: path))
        #expect(chmod(path, 0o600) == 0)
        #expect(throws: CredentialsError.fileTooLarge(path: path)) { try Credentials.load(path: path) }
        let pipe = folder + "/pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
        #expect(throws: CredentialsError.fileUnreadable(path: pipe, reason: "it is not a file")) {
            try Credentials.load(path: pipe)
        }
    }
}

extension FileManager {
    /// A new empty folder for one test.
    fileprivate func temporaryFolder() throws -> String {
        let path = temporaryDirectory.appending(path: "parley-\(UUID().uuidString)").path()
        try createDirectory(atPath: path, withIntermediateDirectories: true)
        return path
    }
}
