/// CRC-16/XMODEM (polynomial 0x1021, start 0), appended to nkeys low byte first.
enum CRC16 {
    static func checksum(_ bytes: some Sequence<UInt8>) -> UInt16 {
        var crc: UInt16 = 0
        for byte in bytes {
            crc ^= UInt16(byte) << 8
            for _ in 0..<8 {
                crc = crc & 0x8000 == 0 ? crc << 1 : (crc << 1) ^ 0x1021
            }
        }
        return crc
    }

    static func append(to bytes: inout [UInt8]) {
        let crc = checksum(bytes)
        bytes.append(UInt8(truncatingIfNeeded: crc))
        bytes.append(UInt8(truncatingIfNeeded: crc >> 8))
    }

    static func isIntact(_ bytes: [UInt8]) -> Bool {
        guard bytes.count > 2 else { return false }
        let crc = checksum(bytes.dropLast(2))
        return bytes[bytes.count - 2] == UInt8(truncatingIfNeeded: crc)
            && bytes[bytes.count - 1] == UInt8(truncatingIfNeeded: crc >> 8)
    }
}
