import Platform
import Relay
import TestSupport
import Testing

@testable import Parley

@Suite("A letter in a file")
struct LetterFileTests {
    @Test(
        "The name that a file is given means nothing to a shell or a file system, whoever the sender is",
        arguments: ["bob", "../../etc/passwd", "~parley", "a b;rm -rf", "Zoë\u{1B}[2J", "", nil, "日本"])
    func names(sender: String?) {
        let name = letter(1, from: sender).fileName
        #expect(name.hasPrefix("letter-") && name.hasSuffix(".txt"))
        #expect(
            name.utf8.allSatisfy { byte in
                let scalar = Unicode.Scalar(byte)
                return scalar.isASCII
                    && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar)
                        || "-.".unicodeScalars.contains(scalar))
            })
        #expect(name.count { $0 == "." } == 1)
    }

    @Test("Nothing that is there is written over, and nobody else may read what is written")
    func files() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("letter.txt")
        try InboxSaveCommand.write("Grüße\n", to: path)
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        for taken in [path, folder.path("none/letter.txt"), folder.path] {
            #expect(throws: CommandFailure.self) { try InboxSaveCommand.write("other", to: taken) }
        }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "Grüße\n")
    }
}
