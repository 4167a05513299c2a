import Platform

/// Overwrites secret bytes in a way that the optimizer must keep.
enum Wiping {
    /// Zeroes and empties the array. Only its own storage is reached: a shared copy keeps its bytes, so callers hold
    /// secrets in one variable only.
    static func wipe(_ bytes: inout [UInt8]) {
        bytes.withUnsafeMutableBytes { buffer in
            guard let base = buffer.baseAddress, buffer.count > 0 else { return }
            #if canImport(Darwin)
                memset_s(base, buffer.count, 0, buffer.count)
            #else
                explicit_bzero(base, buffer.count)
            #endif
        }
        bytes.removeAll(keepingCapacity: false)
    }
}
