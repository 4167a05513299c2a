import NATS
import Platform
import TestSupport
import Testing

/// The benchmarks, with little to do: that they measure, not what.
@Suite("Benchmarks", .realProcesses)
struct BenchmarkTests {
    @Test("The core is measured from the pool and from the main actor, each beside the wire")
    func relay() async throws {
        let parts = try await BenchFigures.run("relay", "n=1000")
        #expect(parts["relay"]?["n"] == 1_000 && parts["relay"]?["rounds"] == 1)
        parts.expect("jspub_async_s", "jspub_sync_s", "jspull_s", of: "relay")
        for scenario in ["submit", "publish", "messages", "on"] {
            for figure in ["pool_s", "pool_ratio", "main_s", "main_ratio"] {
                parts.expect("\(scenario)_\(figure)", of: "relay")
            }
        }
    }

    @Test("Users are added and log in, and what goes through their imports is compared with what does not")
    func accounts() async throws {
        let parts = try await BenchFigures.run("accounts", "n=5", "messages=200")
        #expect(parts["accounts"]?["n"] == 5)
        parts.expect("add_us", "p50_us", "p99_us", "again_p50_us", of: "accounts")
        parts.expect("jspub_sync", "jspub_async", "jspull", of: "imports")
    }

    @Test("A server that is killed and started again is found again, and how long that takes is told")
    func reconnect() async throws {
        let figures = try #require(try await BenchFigures.run("reconnect", "n=1")["reconnect"])
        #expect(figures["n"] == 1)
        for figure in ["bare_login_us", "times_bare_login"] { #expect((figures[figure] ?? -1) >= 0, "\(figure)") }
    }

    @Test("The wire is measured on a server that is named")
    func wire() async throws {
        let server = try await NATSServerProcess.start()
        let connection = try await NATSConnection.connect(
            to: try ServerAddress(parsing: server.url), options: ConnectOptions(connectTimeout: .seconds(60)))
        let jetStream = JetStream(connection, timeout: .seconds(60))
        try await jetStream.createStream(StreamConfiguration(name: "BENCH", subjects: ["bench.js"]))
        for (scenario, figure) in [
            ("pub", "msgs_s"), ("ping", "p50_us"), ("connect", "p50_us"), ("idle", "hwm_kb"),
            ("jspub_sync", "msgs_s"), ("jspub_async", "msgs_s"), ("jspull", "msgs_s"),
        ] {
            let parts = try await BenchFigures.run(server.url, scenario, "n=100", "subject=bench.js")
            parts.expect(figure, of: scenario)
        }
        await connection.close()
    }

    @Test("A store is filled, opened, looked through, read into and shown by the chat, each beside what it costs alone")
    func store() async throws {
        let parts = try await BenchFigures.run("store", "n=3000", "rounds=1", "searches=2", "stored=1000")
        #expect(parts["store"]?["n"] == 3_000)
        parts.expect("insert_s", "bare_insert_s", "file_bytes_msg", of: "store")
        parts.expect("open_p50_ms", "empty_p50_ms", of: "store_open")
        parts.expect("all_p50_ms", "rare_p50_ms", of: "store_search")
        parts.expect("msgs_s", "ratio", of: "store_tail")
        #if os(Linux)
            parts.expect("frame_p50_ms", "page_p50_ms", "ratio", of: "store_frame")
        #endif
    }

    @Test("A postbox is filled, paged and walked through, and letters are deleted while the server is killed")
    func postbox() async throws {
        let parts = try await BenchFigures.run("postbox", "n=2000", "page=10", "rounds=3", "deletions=200")
        parts.expect("stored_s", of: "postbox")
        parts.expect("all_first_p50_ms", "all_next_p50_ms", "box_next_p50_ms", "box_of_bare", of: "postbox_pages")
        parts.expect("letters_s", of: "postbox_walk")
        parts.expect("deletions_s", "ratio", of: "postbox_delete")
        // Whatever was under way when the server died, each letter is one of these.
        let kill = try #require(parts["postbox_kill"])
        #expect((kill["gone"] ?? 0) + (kill["kept"] ?? 0) + (kill["unknown"] ?? 0) == 200 && kill["n"] == 200)
        #expect(kill["left"] != nil && kill["left"] == kill["came_back"])
    }

    #if os(Linux)
        @Test("The screen is typed at under each load, takes messages, and both are compared with the least possible")
        func screen() async throws {
            let parts = try await BenchFigures.run("screen", "n=1000", "keys=5")
            #expect(parts["screen"]?["n"] == 1_000)
            for load in ["idle", "100", "5000", "20000"] {
                for figure in ["p50_us", "p99_us", "of_bare_frame"] {
                    parts.expect("key_\(load)_\(figure)", of: "screen")
                }
            }
            parts.expect("bare_frame_us", "msgs_s", "bare_msgs_s", of: "screen")
        }

        @Test("B21 Client and chat are silent while they are suspended, and the client comes back with what waited")
        func suspended() async throws {
            // How often they wake up is for a machine that does nothing else; that they are silent holds on every one.
            let parts = try await BenchFigures.run("suspended", "seconds=3", "settle=2")
            #expect(parts.keys.sorted() == ["suspended", "suspended_chat"])
            for (part, figures) in parts {
                for silent in ["bytes", "dials", "sockets"] {
                    #expect(figures[silent] == 0 && figures["\(silent)_goal"] == 0, "\(part) \(silent)")
                }
                #expect((figures["wakeups_min"] ?? -1) >= 0 && (figures["ticks"] ?? -1) >= 0, "\(part)")
                #expect(figures["above_floor_min_goal"] == 1 && figures["ticks_goal"] == 0)
                parts.expect("seconds", "floor_min", of: part)
            }
        }
    #endif
}
