import NATS
import NIOConcurrencyHelpers
import Relay

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The services of a network, answered by any number of hosts together (a queue group).
///
/// The server vouches for who asks: a request that comes through an import carries the asker's account. A user's many
/// requests wait behind each other, and are refused when too many of them wait.
struct NetworkServices: Sendable {
    /// The subjects of all services.
    static let subjects = [
        NamespaceService.subject, NetworkNames.postboxes(of: "*", "*"), NetworkNames.recipient("*", "*"),
        NetworkNames.streams(of: "*"),
    ]
    private static let queue = "relay-hosts"

    private let connection: NATSConnection
    private let users: UserAccounts
    private let namespace: NamespaceService
    private let streams: StreamNamesService
    private let postboxes: PostboxService
    private let requests: [NATSSubscription]

    /// Subscribes; the requests wait until ``run()``.
    /// - Parameters:
    ///   - connection: where requests come from.
    ///   - jetStream: the network's streams, over another connection.
    init(
        connection: NATSConnection, directory: NetworkDirectory, identity: NetworkIdentity, jetStream: JetStream,
        postboxes: PostboxService
    ) throws(NATSError) {
        self.connection = connection
        self.postboxes = postboxes
        users = UserAccounts(directory: directory)
        namespace = NamespaceService(names: identity.names, directory: directory, jetStream: jetStream)
        streams = StreamNamesService(names: identity.names)
        requests = try Self.subjects.map { subject throws(NATSError) in
            // Requests are only put in line here, so that these buffers hold what one turn of the loop brings.
            try connection.subscribe(
                to: subject, queue: Self.queue,
                limits: BufferLimits(messages: 65_536, bytes: 64 << 20, overflow: .dropNewest))
        }
    }

    /// Answers requests until the connection ends or the task is cancelled.
    /// - Throws: the reason for the connection's end.
    func run() async throws(NATSError) {
        let desk = Desk()
        let failure = await withTaskGroup(of: NATSError?.self) { group in
            for subscription in requests { group.addTask { await read(subscription, desk) } }
            group.addTask {
                await withDiscardingTaskGroup { work in
                    // At most as many as may be worked on at once are ready.
                    for await request in desk.ready {
                        work.addTask {
                            if let answer = await answer(request.message, request.account) {
                                send(answer, to: request.message)
                            }
                            desk.finished(request)
                        }
                    }
                    work.cancelAll()
                }
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            desk.close()
            await group.waitForAll()
            return first
        }
        if let failure { throw failure }
    }

    /// A request and the account it comes from.
    private struct Request: Sendable {
        let account: String
        let message: NATSMessage
    }

    /// Where requests wait for their turn.
    private final class Desk: Sendable {
        let ready: AsyncStream<Request>
        private let begin: AsyncStream<Request>.Continuation
        private let queue = NIOLockedValueBox(RequestQueue<String, Request>())

        init() {
            (ready, begin) = AsyncStream.makeStream()
        }

        /// Takes a request in; false when its asker has too many waiting.
        func take(_ request: Request) -> Bool {
            switch queue.withLockedValue({ $0.arrived(request, from: request.account) }) {
            case .start: begin.yield(request)
            case .wait: break
            case .refuse: return false
            }
            return true
        }

        func finished(_ request: Request) {
            for (_, next) in queue.withLockedValue({ $0.finished(request.account) }) { begin.yield(next) }
        }

        func close() { begin.finish() }
    }

    /// Puts requests in line as they come; returns when the connection has ended.
    private func read(_ subscription: NATSSubscription, _ desk: Desk) async -> NATSError? {
        var iterator = subscription.makeAsyncIterator()
        do throws(NATSError) {
            while let message = try await iterator.next(isolation: nil) {
                guard message.reply != nil, let account = Self.account(of: message) else { continue }
                let isTaken = desk.take(Request(account: account, message: message))
                if !isTaken, let answer = refusal(of: message) { send(answer, to: message) }
            }
            return nil
        } catch {
            return error
        }
    }

    private func answer(_ message: NATSMessage, _ account: String) async -> [UInt8]? {
        guard let user = users.user(ofAccount: account) else { return refusal(of: message) }
        if message.subject == NamespaceService.subject {
            await postboxes.prepare(user)
            return await namespace.reply(to: user)
        }
        if message.subject == NetworkNames.streams(of: user.text) { return streams.reply(to: message.bytes, of: user) }
        let tokens = message.subject.split(separator: ".").map(String.init)
        guard tokens.count == 4 else { return nil }
        if tokens[1] == "recipient" { return await postboxes.reply(aboutPostbox: tokens[3], of: tokens[2]) }
        // The imports keep users from asking under another user's name; that is still checked here.
        guard tokens[2] == user.text else { return nil }
        return await postboxes.reply(to: message.bytes, verb: tokens[3], of: user)
    }

    /// The answer to a request that is not worked on now. One for names gets none, as if the answer had been lost.
    private func refusal(of message: NATSMessage) -> [UInt8]? {
        let isForNames =
            message.subject == NamespaceService.subject || message.subject.hasPrefix(NetworkNames.streams(of: ""))
        return isForNames ? nil : Wire.json(PostboxReply(error: .unavailable))
    }

    /// An answer that cannot leave is the asker's time-out; the connection's end is seen by the reader.
    private func send(_ answer: [UInt8], to message: NATSMessage) {
        guard let reply = message.reply else { return }
        _ = try? connection.publish(answer, to: reply)
    }

    /// The account that a request comes from, as the server says; nil for one that comes from the network's own.
    static func account(of message: NATSMessage) -> String? {
        guard let header = message.headers["Nats-Request-Info"],
            let information = try? JSONDecoder().decode(RequestInformation.self, from: Data(header.utf8))
        else { return nil }
        return information.acc
    }

    private struct RequestInformation: Decodable { var acc: String }
}

/// Which user an account belongs to, remembered.
final class UserAccounts: Sendable {
    private let directory: NetworkDirectory
    private let known = NIOLockedValueBox<[String: UserName]>([:])

    init(directory: NetworkDirectory) {
        self.directory = directory
    }

    /// The user of an account; nil for an account that is no user's.
    func user(ofAccount account: String) -> UserName? {
        if let user = known.withLockedValue({ $0[account] }) { return user }
        guard let user = directory.user(ofAccount: account) else { return nil }
        known.withLockedValue { $0[account] = user }
        return user
    }
}

/// JSON of the services.
enum Wire {
    /// A value as JSON, the same bytes for the same value. The service's own values always encode.
    static func json(_ value: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(value)).map { Array($0) } ?? Array("{}".utf8)
    }
}
