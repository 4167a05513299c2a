import Logging

extension Logger {
    package static let silent = Logger(label: "silent") { _ in SwiftLogNoOpLogHandler() }
}

struct ConnectionLog: Sendable {
    private let logger: Logger

    init(_ logger: Logger, to server: ServerAddress) {
        var logger = logger
        logger[metadataKey: "nats.server"] = "\(server)"
        self.logger = logger
    }

    func connecting() { logger.debug("Connecting") }

    func connected(_ info: ServerInfo) {
        logger.debug(
            "Connected",
            metadata: [
                "nats.server.name": "\(info.serverName ?? "unknown")", "nats.server.version": "\(info.version)",
                "nats.client.id": "\(info.clientID.map(String.init) ?? "unknown")",
            ])
    }

    func note(_ event: NATSConnectionEvent) {
        switch event {
        case .infoChanged: logger.trace("The server sent a new INFO")
        case .lameDuck: logger.debug("The server is about to shut down")
        case .notice(let error): logger.debug("The server refused something", metadata: ["error": "\(error)"])
        case .slowConsumer(let subject, let dropped):
            logger.debug(
                "Messages were dropped: their reader is too slow",
                metadata: ["nats.subject": "\(subject)", "dropped": "\(dropped)"])
        case .roundTrip(let duration): logger.trace("The server answered a ping", metadata: ["rtt": "\(duration)"])
        case .silent(let duration):
            logger.debug("The server does not answer", metadata: ["silent.for": "\(duration)"])
        case .heardAgain: logger.debug("The server answers again")
        case .closed(let error):
            logger.debug("The connection has ended", metadata: ["error": "\(error?.description ?? "none")"])
        }
    }
}
