import Platform

/// What libFuzzer calls with each input. `Fuzz/run` names the target in the environment.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard let target = chosen else {
        print("PARLEY_FUZZ_TARGET names none of: \(FuzzTarget.allCases.map(\.rawValue).joined(separator: ", "))")
        exit(64)
    }
    do throws(FuzzTarget.Finding) {
        try target.read(Array(UnsafeBufferPointer(start: start, count: count)))
    } catch {
        print("finding: \(error.words)")
        fflush(nil)
        abort()
    }
    return 0
}

private let chosen = getenv("PARLEY_FUZZ_TARGET").flatMap { FuzzTarget(rawValue: String(cString: $0)) }
