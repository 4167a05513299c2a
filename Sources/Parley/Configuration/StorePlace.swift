import RelayNetwork

/// The location of the interactive client's local store: one file per user of a network.
enum StorePlace {
    /// The file's path.
    ///
    /// - Parameters:
    ///   - network: `local`, or a server's host and port joined by a dash.
    ///   - account: the account that vouches for the user there, if the credentials name it.
    static func path(network: String, user: String, account: String?, _ environment: [String: String]) -> String {
        NetworkDirectory.dataFolder(environment) + "/stores/" + fileName(network: network, user: user, account: account)
    }

    /// A name that is valid on any file system and unique to a network's user. Characters other than lower-case
    /// letters, digits, dots, dashes and underscores are written as `=` and two hexadecimal digits, so that users stay
    /// distinct on file systems that ignore case.
    static func fileName(network: String, user: String, account: String? = nil) -> String {
        var name = safe(user) + "@" + safe(network.lowercased())
        if let account { name += "@" + String(StableHash.of(account), radix: 16) }
        if name.utf8.count > 200 { name = name.prefix(180) + "=" + String(StableHash.of(name), radix: 16) }
        // A leading dot would hide the file.
        if name.hasPrefix(".") { name = "=2e" + name.dropFirst() }
        return name + ".sqlite"
    }

    private static func safe(_ text: String) -> String {
        let parts = text.utf8.map { byte -> String in
            let scalar = UnicodeScalar(byte)
            switch scalar {
            case "a"..."z", "0"..."9", ".", "-", "_": return String(scalar)
            default: return (byte < 16 ? "=0" : "=") + String(byte, radix: 16)
            }
        }
        return parts.joined()
    }
}
