import Relay

/// Where the interactive client's local store is: one file for each user of a network.
enum StorePlace {
    /// The file; nil where no folder is known for it.
    ///
    /// - Parameter network: `local`, or a server's host and port with a dash between.
    static func path(network: String, user: String, _ environment: [String: String]) -> String? {
        let data: String
        if let named = environment["XDG_DATA_HOME"], named.hasPrefix("/") {
            data = named
        } else if let home = environment["HOME"], home.hasPrefix("/") {
            data = home + "/.local/share"
        } else {
            return nil
        }
        return data + "/parley/stores/" + fileName(network: network, user: user)
    }

    /// A name that any file system takes and that no other network's user shares. What is not a lower-case letter, a
    /// digit, a dot, a dash or an underscore is written as `=` and two hexadecimal digits, so that file systems which
    /// ignore case do not mix users up.
    static func fileName(network: String, user: String) -> String {
        var name = safe(network.lowercased()) + "-" + safe(user)
        if name.utf8.count > 200 {
            let hash = String(StableHash.of(network.lowercased() + "-" + user), radix: 16)
            name = name.prefix(180) + "=" + hash
        }
        // A leading dot would hide it.
        if name.hasPrefix(".") { name = "=2e" + name.dropFirst() }
        return name + ".sqlite"
    }

    private static func safe(_ text: String) -> String {
        var name = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."),
                UInt8(ascii: "-"), UInt8(ascii: "_"):
                name.unicodeScalars.append(UnicodeScalar(byte))
            default:
                name += (byte < 16 ? "=0" : "=") + String(byte, radix: 16)
            }
        }
        return name
    }
}
