/// Turns what a terminal sends into events, however the bytes are split.
///
/// A pure value. It knows the keys of xterm, rxvt, the Linux console, `CSI u` (kitty) and modifyOtherKeys, SGR, urxvt
/// and X10 mouse reports, bracketed paste and focus reports. An unknown sequence is dropped; no part of it comes out as
/// text. What it keeps is bounded, whatever is sent.
public struct InputParser: Sendable {
    /// The most bytes of one paste that are kept; the rest is dropped, which `pasteCut` reports.
    public static let pasteLimit = 1 << 20

    enum State: Equatable {
        case ground
        case escape(alt: Bool)
        case control(alt: Bool)
        case ignoredControl(Int)
        case linuxFunction
        case mouseBytes
        case single(alt: Bool)
        case string(count: Int, introducer: UInt8, sawEscape: Bool)
        case paste(matched: Int)
    }

    static let controlLimit = 64
    static let ignoredLimit = 4096
    static let stringLimit = 1 << 16

    var state = State.ground
    var sequence: [UInt8] = []
    var decoder = UTF8Decoder()
    var pasteBytes: [UInt8] = []
    var pasteIsCut = false
    var events: [InputEvent] = []
    /// Set when a lone escape was emitted: the rest of a sequence torn apart by a slow line may still arrive.
    private var mayBeLate = false
    /// What was held of a terminal's reply when it timed out.
    private var lateReply: (held: [UInt8], sawEscape: Bool)?
    private var isEscapedText = false
    /// Whether the held escape came with an earlier read than the present bytes.
    private var isEscapeOld = false

    /// Makes a parser that has seen nothing.
    public init() {}

    /// Adds bytes as they were read; returns the events that they complete.
    public mutating func feed(_ bytes: some Sequence<UInt8>) -> [InputEvent] {
        events.removeAll(keepingCapacity: true)
        isEscapeOld = state == .escape(alt: false)
        if mayBeLate || lateReply != nil {
            let chunk = Array(bytes)
            takeUpLate(chunk)
            for byte in chunk { take(byte) }
        } else {
            for byte in bytes { take(byte) }
        }
        return takeEvents()
    }

    /// Continues a sequence whose beginning timed out, if the chunk is what it lacks.
    private mutating func takeUpLate(_ chunk: [UInt8]) {
        guard !chunk.isEmpty else { return }
        if let lateReply, ColorReply.isRest(chunk, of: lateReply.held, sawEscape: lateReply.sawEscape) {
            sequence = lateReply.held
            state = .string(count: sequence.count, introducer: 0x5D, sawEscape: lateReply.sawEscape)
        } else if mayBeLate, Self.isTornSequence(chunk) || ColorReply.isTorn(chunk) {
            state = .escape(alt: false)
        }
        mayBeLate = false
        lateReply = nil
    }

    /// How long after the last byte `flush` is due; nil if nothing is held. Only an escape that may be the key itself
    /// is decided soon: a sequence whose rest is late must not turn into text.
    public var timeout: Duration? {
        switch state {
        case .ground: decoder.isPartial ? .milliseconds(500) : nil
        case .escape: .milliseconds(40)
        case .control, .single: sequence.isEmpty ? .milliseconds(40) : .seconds(1)
        case .string(let count, _, _): count == 0 ? .milliseconds(40) : .seconds(1)
        case .ignoredControl, .linuxFunction, .mouseBytes: .seconds(1)
        case .paste: .seconds(5)
        }
    }

    /// Decides what is held, as if nothing more came: a lone escape is the key, an unfinished sequence is dropped, an
    /// unfinished paste is emitted as far as it came.
    public mutating func flush() -> [InputEvent] {
        events.removeAll(keepingCapacity: true)
        let held = state
        state = .ground
        switch held {
        case .ground:
            if decoder.isPartial { emit(decoder.finish()) }
        case .escape(let alt):
            emit(Key(.escape))
            if alt { emit(Key(.escape)) }
            mayBeLate = true
        case .control(let alt):
            if sequence.isEmpty { emitTyped("[", alt: alt) }
        case .single(let alt):
            if sequence.isEmpty { emitTyped("O", alt: alt) }
        case .string(count: 0, let introducer, let sawEscape):
            emitTyped(Character(Unicode.Scalar(introducer)), alt: false)
            if introducer == 0x5D { lateReply = ([], sawEscape) }
        case .string(_, introducer: 0x5D, let sawEscape):
            lateReply = (sequence, sawEscape)
        case .paste(let matched):
            keepInPaste(Self.pasteEnd[..<matched])
            finishPaste()
        case .ignoredControl, .linuxFunction, .mouseBytes, .string:
            break
        }
        sequence.removeAll(keepingCapacity: true)
        isEscapedText = false
        return takeEvents()
    }

    private mutating func takeEvents() -> [InputEvent] {
        defer { events = [] }
        return events
    }

    // MARK: states

    mutating func take(_ byte: UInt8) {
        switch state {
        case .ground: takeGround(byte)
        case .escape(let alt): takeEscape(byte, alt: alt)
        case .control(let alt): takeControl(byte, alt: alt)
        case .ignoredControl(let count): takeIgnored(byte, count: count)
        case .linuxFunction:
            state = .ground
            if (0x41...0x45).contains(byte) { emit(Key(.function(Int(byte) - 0x40))) }
        case .mouseBytes: takeMouseByte(byte)
        case .single(let alt): takeSingle(byte, alt: alt)
        case .string(let count, let introducer, let sawEscape):
            takeString(byte, count: count, introducer: introducer, sawEscape: sawEscape)
        case .paste(let matched): takePaste(byte, matched: matched)
        }
    }

    mutating func takeGround(_ byte: UInt8) {
        if byte < 0x80 {
            if decoder.isPartial { emit(decoder.finish()) }
            if byte == 0x1B {
                state = .escape(alt: false)
            } else if let key = Key(byte: byte) {
                emit(key)
            }
            return
        }
        decoder.take(byte)
        while let scalar = decoder.next() { emit(scalar) }
    }

    private mutating func takeEscape(_ byte: UInt8, alt: Bool) {
        sequence.removeAll(keepingCapacity: true)
        let isOld = isEscapeOld
        isEscapeOld = false
        // The first of two escapes is the key, unless both begin a sequence.
        if alt, byte != 0x5B, byte != 0x4F { emit(Key(.escape)) }
        switch byte {
        // Commands begin with a slash, and people press Escape before one. Alt-/, as one key, comes in one piece.
        case 0x2F where isOld:
            state = .ground
            emit(Key(.escape))
            takeGround(byte)
        case 0x1B: state = .escape(alt: true)
        case 0x5B: state = .control(alt: alt)
        case 0x4F: state = .single(alt: alt)
        case 0x5D, 0x50, 0x58, 0x5E, 0x5F: state = .string(count: 0, introducer: byte, sawEscape: false)
        default:
            state = .ground
            if byte < 0x80 {
                guard var key = Key(byte: byte) else { return }
                key.modifiers.insert(.alt)
                emit(key)
            } else {
                isEscapedText = true
                takeGround(byte)
            }
        }
    }

    private mutating func takeControl(_ byte: UInt8, alt: Bool) {
        switch byte {
        case 0x24 where Self.isRxvtShift(sequence):
            state = .ground
            finishControl(final: byte, alt: alt)
        case 0x20...0x3F:
            if sequence.count < Self.controlLimit { sequence.append(byte) } else { state = .ignoredControl(0) }
        case 0x5B where sequence.isEmpty: state = .linuxFunction
        case 0x4D where sequence.isEmpty: state = .mouseBytes
        case 0x40...0x7E:
            state = .ground
            finishControl(final: byte, alt: alt)
        default: abandon(for: byte)
        }
    }

    private mutating func takeIgnored(_ byte: UInt8, count: Int) {
        switch byte {
        case 0x20...0x3F: state = count < Self.ignoredLimit ? .ignoredControl(count + 1) : .ground
        case 0x40...0x7E: state = .ground
        default: abandon(for: byte)
        }
    }

    private mutating func takeSingle(_ byte: UInt8, alt: Bool) {
        switch byte {
        case 0x30...0x39, 0x3B:
            if sequence.count < 8 { sequence.append(byte) } else { state = .ignoredControl(0) }
        case 0x20...0x7E:
            state = .ground
            finishSingle(final: byte, alt: alt)
        default: abandon(for: byte)
        }
    }

    private mutating func takeMouseByte(_ byte: UInt8) {
        sequence.append(byte)
        guard sequence.count == 3 else { return }
        state = .ground
        defer { sequence.removeAll(keepingCapacity: true) }
        let numbers = (Int(sequence[0]) - 32, Int(sequence[1]) - 32, Int(sequence[2]) - 32)
        emitMouse(numbers.0, column: numbers.1, row: numbers.2, isRelease: nil)
    }

    private mutating func takeString(_ byte: UInt8, count: Int, introducer: UInt8, sawEscape: Bool) {
        if sawEscape {
            if byte == 0x5C {
                finishString(introducer)
            } else {
                // Not the terminator: the string was cut off, and a new sequence begins.
                state = .escape(alt: false)
                take(byte)
            }
            return
        }
        switch byte {
        case 0x07: finishString(introducer)
        case 0x18, 0x1A: state = .ground
        case 0x1B: state = .string(count: count, introducer: introducer, sawEscape: true)
        default:
            // Of all strings only two replies matter: a short one, and the beginning of the other.
            if introducer == 0x5D, sequence.count < Self.controlLimit { sequence.append(byte) }
            // No reply of a terminal is this long.
            state =
                count < Self.stringLimit
                ? .string(count: count + 1, introducer: introducer, sawEscape: false) : .ground
        }
    }

    private mutating func finishString(_ introducer: UInt8) {
        state = .ground
        if introducer == 0x5D {
            if let color = ColorReply.background(sequence) { events.append(.reply(.background(color))) }
            if NotificationReply.isReply(sequence) { events.append(.reply(.notifications)) }
        }
        sequence.removeAll(keepingCapacity: true)
    }

    /// A byte that no sequence contains ends the one before it and counts for itself.
    private mutating func abandon(for byte: UInt8) {
        state = .ground
        if byte != 0x18, byte != 0x1A { takeGround(byte) }
    }

    // MARK: events

    mutating func emit(_ key: Key) {
        events.append(.key(key))
    }

    private mutating func emit(_ scalar: Unicode.Scalar) {
        let modifiers: Key.Modifiers = isEscapedText ? .alt : []
        isEscapedText = false
        guard scalar.properties.generalCategory != .control else { return }
        emit(Key(.character(Character(scalar)), modifiers))
    }

    private mutating func emitTyped(_ character: Character, alt: Bool) {
        if alt { emit(Key(.escape)) }
        emit(.alt(character))
    }

    /// Whether a chunk is nothing but the rest of a sequence: no person types that in one go.
    private static func isTornSequence(_ bytes: [UInt8]) -> Bool {
        guard bytes.count >= 2, bytes[0] == 0x5B || bytes[0] == 0x4F, let last = bytes.last else { return false }
        let middle = bytes[1..<(bytes.count - 1)]
        return (0x40...0x7E).contains(last) && middle.allSatisfy { (0x20...0x3F).contains($0) }
    }
}
