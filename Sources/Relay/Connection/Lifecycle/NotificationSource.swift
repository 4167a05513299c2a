import Foundation
import NIOConcurrencyHelpers

#if canImport(AppKit)
    import AppKit
#endif

/// Tells what an application's system says in notifications, each of which stands for an event.
public final class NotificationSource: LifecycleSource {
    /// An observer of a notification centre.
    ///
    /// It may pass between threads: nothing is done with it but to hand it back to its centre, which takes it from any.
    private struct Observer: @unchecked Sendable {
        let token: any NSObjectProtocol
    }

    private let center: NotificationCenter
    private let events: [Notification.Name: LifecycleEvent]
    private let observers = NIOLockedValueBox<[Observer]>([])

    /// A source of notifications.
    ///
    /// - Parameters:
    ///   - center: where they are posted.
    ///   - events: what each stands for.
    public init(_ center: NotificationCenter, _ events: [Notification.Name: LifecycleEvent]) {
        self.center = center
        self.events = events
    }

    deinit { end() }

    /// Begins to observe.
    public func begin(_ receiver: LifecycleReceiver) {
        let begun = events.map { name, event in
            Observer(token: center.addObserver(forName: name, object: nil, queue: nil) { _ in receiver.tell(event) })
        }
        observers.withLockedValue { $0 += begun }
    }

    /// Observes no more.
    public func end() {
        let ended = observers.withLockedValue { observers in
            defer { observers = [] }
            return observers
        }
        for observer in ended { center.removeObserver(observer.token) }
    }
}

/// The signals that the present system gives.
public enum SystemLifecycle {
    /// New sources of all of them. Where the system says nothing of applications, as on Linux, that is the machine's
    /// sleep.
    public static func sources() -> [any LifecycleSource] {
        var sources: [any LifecycleSource] = [SleepSource()]
        #if os(iOS) || os(tvOS) || os(visionOS)
            sources.append(
                NotificationSource(
                    .default,
                    [
                        Notification.Name("UIApplicationDidEnterBackgroundNotification"): .background,
                        Notification.Name("UIApplicationWillEnterForegroundNotification"): .foreground,
                    ]))
        #elseif canImport(AppKit)
            sources.append(
                NotificationSource(
                    .default,
                    [
                        Notification.Name("NSApplicationDidResignActiveNotification"): .background,
                        Notification.Name("NSApplicationDidBecomeActiveNotification"): .foreground,
                    ]))
            // Sleep, and another user at the screen, are told by the workspace's own centre.
            sources.append(
                NotificationSource(
                    NSWorkspace.shared.notificationCenter,
                    [
                        Notification.Name("NSWorkspaceWillSleepNotification"): .stopping,
                        Notification.Name("NSWorkspaceDidWakeNotification"): .foreground,
                        Notification.Name("NSWorkspaceSessionDidResignActiveNotification"): .background,
                        Notification.Name("NSWorkspaceSessionDidBecomeActiveNotification"): .foreground,
                    ]))
        #endif
        return sources
    }
}
