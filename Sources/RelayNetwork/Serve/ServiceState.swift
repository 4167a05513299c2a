import NIOConcurrencyHelpers

/// How a process of a network's services is doing: what its HTTP port tells. A pure value.
struct ServiceState: Hashable, Sendable {
    /// Names the process among those that share the requests.
    let id: String
    /// What the network is called.
    let network: String
    /// What was answered.
    var figures: ServiceFigures
    /// The server that it is connected to, as that calls itself; nil while it is connected to none.
    private(set) var server: String?
    /// Why it is not.
    private(set) var hindrance: String? = "it has just started"
    /// How often it was connected.
    private(set) var connections: UInt64 = 0

    init(id: String, network: String, start: Int64) {
        (self.id, self.network, figures) = (id, network, ServiceFigures(start: start))
    }

    /// Requests are answered from now on.
    mutating func began(at server: String) {
        self.server = server
        hindrance = nil
        connections += 1
    }

    /// Requests are not answered any more.
    mutating func ended(_ reason: String) {
        server = nil
        hindrance = reason
    }

    /// Whether requests are answered.
    var isReady: Bool { server != nil }
}

// MARK: What the HTTP port says

extension ServiceState {
    /// What is said to a question over HTTP.
    func answer(to question: HTTPQuestion) -> HTTPAnswer {
        guard ["GET", "HEAD"].contains(question.method) else { return HTTPAnswer(status: 405, body: "GET alone\n") }
        return answer(to: question.path)
    }

    /// What is said at a path.
    func answer(to path: String) -> HTTPAnswer {
        switch path {
        case "/health": HTTPAnswer(status: 200, body: "alive\n")
        case "/ready":
            isReady
                ? HTTPAnswer(status: 200, body: "ready\n")
                : HTTPAnswer(status: 503, body: "not ready: \(hindrance ?? "unknown")\n")
        case "/metrics": HTTPAnswer(status: 200, type: "text/plain; version=0.0.4; charset=utf-8", body: metrics)
        default: HTTPAnswer(status: 404, body: "/health, /ready and /metrics\n")
        }
    }

    /// The figures in Prometheus' text form.
    private var metrics: String {
        let own = "network=\"\(network)\",id=\"\(id)\""
        func family(_ name: String, _ kind: String, _ help: String, _ samples: [(labels: String, value: String)])
            -> String
        {
            "# HELP \(name) \(help)\n# TYPE \(name) \(kind)\n"
                + samples.map { "\(name){\($0.labels)} \($0.value)\n" }.joined()
        }
        func each(_ value: (ServiceFigures.Endpoint) -> String) -> [(labels: String, value: String)] {
            ServiceEndpoint.allCases.map { ("\(own),endpoint=\"\($0.rawValue)\"", value(figures[$0])) }
        }
        return family("parley_ready", "gauge", "Whether requests are answered.", [(own, isReady ? "1" : "0")])
            + family(
                "parley_connections_total", "counter", "How often a server was connected to.",
                [(own, "\(connections)")])
            + family(
                "parley_start_time_seconds", "gauge", "When the process began.", [(own, "\(figures.start)")])
            + family("parley_requests_total", "counter", "Requests worked on.", each { "\($0.requests)" })
            + family("parley_request_errors_total", "counter", "Requests without an answer.", each { "\($0.errors)" })
            + family(
                "parley_request_seconds_total", "counter", "Time spent on requests.",
                each { Self.seconds($0.time) })
    }

    /// Seconds with nine decimals, which no locale changes.
    private static func seconds(_ time: Duration) -> String {
        let nanoseconds = time.wholeNanoseconds
        let rest = "\(nanoseconds % 1_000_000_000)"
        return "\(nanoseconds / 1_000_000_000)." + String(repeating: "0", count: 9 - rest.count) + rest
    }
}
