// swift-tools-version:6.2
import PackageDescription

let strict: [SwiftSetting] = [.enableUpcomingFeature("ExistentialAny")]

// Release builds for Linux carry the Swift runtime inside the executable: it starts faster and runs on machines
// without a toolchain. SQLite's Swift interface brings Foundation along, whose parts are named here since nothing
// else names them to a static linker. The flags stay on the executables, so the libraries remain free to be depended
// on.
let standalone: [LinkerSetting] = [
    .unsafeFlags(
        [
            "-static-stdlib", "-l_FoundationCShims", "-l_FoundationCollections", "-lCoreFoundation",
            "-l_FoundationICU",
        ],
        .when(platforms: [.linux], configuration: .release))
]

let package = Package(
    name: "parley",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "parley", targets: ["Parley"]),
        .library(name: "NATS", targets: ["NATS"]),
        .library(name: "Relay", targets: ["Relay"]),
        .library(name: "RelayNetwork", targets: ["RelayNetwork"]),
        .library(name: "RelayFaults", targets: ["RelayFaults"]),
        .library(name: "RelayLab", targets: ["RelayLab"]),
        .library(name: "Terminal", targets: ["Terminal"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.1.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.14.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2", traits: []),
    ],
    targets: [
        .target(name: "Platform", swiftSettings: strict),
        .target(
            name: "NATS",
            dependencies: [
                "CRouteSocket", "Platform",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "NIOSOCKS", package: "swift-nio-extras"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: strict
        ),
        .target(name: "CRouteSocket"),
        .target(
            name: "Relay",
            dependencies: [
                "NATS", "Platform",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: strict
        ),
        .target(name: "CProcess"),
        .target(
            name: "RelayNetwork",
            dependencies: [
                "CProcess", "NATS", "Platform", "Relay",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "Subprocess", package: "swift-subprocess"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "RelayFaults",
            dependencies: [
                "NATS", "Platform",
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: strict
        ),
        .target(name: "JSON5", dependencies: ["Platform"], swiftSettings: strict),
        .target(
            name: "RelayLab",
            dependencies: [
                "JSON5", "NATS", "Platform", "Relay", "RelayFaults", "RelayNetwork",
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
            ],
            resources: [.embedInCode("Scenario/Shipped")],
            swiftSettings: strict
        ),
        .target(
            name: "CTerminal",
            linkerSettings: [
                .linkedLibrary("ncursesw"),
                .linkedLibrary("tinfo", .when(platforms: [.linux])),
            ]
        ),
        .target(name: "Terminal", dependencies: ["CTerminal", "Platform"], swiftSettings: strict),
        .executableTarget(
            name: "Parley",
            dependencies: [
                "CProcess", "JSON5", "Platform", "Relay", "RelayFaults", "RelayLab", "RelayNetwork", "Terminal",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "Subprocess", package: "swift-subprocess"),
            ],
            swiftSettings: strict,
            linkerSettings: standalone
        ),
        .executableTarget(
            name: "parley-bench",
            dependencies: [
                "NATS", "Platform", "Relay", "RelayFaults", "RelayLab", "RelayNetwork",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            path: "Sources/ParleyBench",
            swiftSettings: strict,
            linkerSettings: standalone
        ),
        // The readers of strangers' bytes, for `Fuzz/run` and for the tests of the inputs that are kept.
        .target(
            name: "FuzzTargets",
            dependencies: [
                "JSON5", "NATS", "Platform", "Relay", "RelayLab", "Terminal",
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            path: "Fuzz/Targets",
            swiftSettings: strict
        ),
        .systemLibrary(
            name: "CVTerm", path: "Tests/CVTerm", pkgConfig: "vterm",
            providers: [.apt(["libvterm-dev"]), .brew(["libvterm"])]
        ),
        .target(name: "CChildProcess", path: "Tests/CChildProcess"),
        .executableTarget(
            name: "child-supervisor", dependencies: ["CChildProcess"], path: "Tests/ChildSupervisor"),
        .testTarget(
            name: "TestSupport",
            dependencies: [
                "CVTerm", "CChildProcess", "NATS", "Platform", "child-supervisor",
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSOCKS", package: "swift-nio-extras"),
            ],
            swiftSettings: strict
        ),
        // Values alone, or a server in the test's own memory: no port, no program.
        .testTarget(
            name: "NATSTests",
            dependencies: [
                "NATS", "Platform", "TestSupport",
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "RelayTests",
            dependencies: [
                "NATS", "Platform", "Relay", "TestSupport",
                .product(name: "InMemoryLogging", package: "swift-log"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "RelayNetworkTests",
            dependencies: [
                "NATS", "Platform", "Relay", "RelayNetwork", "TestSupport",
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "RelayFaultsTests",
            dependencies: [
                "RelayFaults", "TestSupport",
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "RelayLabTests",
            dependencies: [
                "FuzzTargets", "Relay", "RelayLab", "TestSupport",
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "TerminalTests", dependencies: ["Platform", "Terminal", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "ParleyTests",
            dependencies: [
                "NATS", "Parley", "Platform", "Relay", "RelayLab", "RelayNetwork", "Terminal", "TestSupport",
            ],
            exclude: ["Views/Goldens"],
            swiftSettings: strict
        ),
        // Real servers, sockets and programs.
        .testTarget(
            name: "NATSIntegrationTests",
            dependencies: [
                "NATS", "Platform", "TestSupport",
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "RelayIntegrationTests",
            dependencies: [
                "NATS", "Platform", "Relay", "TestSupport",
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            exclude: ["Interop/peer.py"],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "HostFixture", dependencies: ["Platform", "RelayNetwork"],
            path: "Tests/RelayNetworkIntegrationTests/HostFixture",
            swiftSettings: strict
        ),
        .testTarget(
            name: "RelayNetworkIntegrationTests",
            dependencies: [
                "CChildProcess", "HostFixture", "NATS", "Platform", "Relay", "RelayFaults", "RelayNetwork",
                "TestSupport",
                "parley-bench",
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            exclude: ["HostFixture", "Interop/unmodified.py"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "RelayLabIntegrationTests",
            dependencies: [
                "NATS", "Relay", "RelayFaults", "RelayLab", "RelayNetwork", "TestSupport",
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ParleyIntegrationTests",
            dependencies: [
                "NATS", "Parley", "Platform", "Relay", "RelayFaults", "RelayNetwork", "Terminal", "TestSupport",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
            ],
            exclude: ["Interop/numbers.py"],
            swiftSettings: strict
        ),
    ],
    swiftLanguageModes: [.v6]
)

// `Fuzz/run` builds Parley's own targets with the measures that libFuzzer steers by, in a folder of its own.
if Context.environment["PARLEY_FUZZ"] != nil {
    let fuzzed = ["FuzzTargets", "JSON5", "NATS", "Relay", "RelayLab", "Terminal"]
    for target in package.targets where fuzzed.contains(target.name) {
        target.swiftSettings = strict + [.unsafeFlags(["-sanitize=fuzzer"])]
    }
    package.products.append(.library(name: "ParleyFuzz", type: .dynamic, targets: ["FuzzTargets"]))
}
