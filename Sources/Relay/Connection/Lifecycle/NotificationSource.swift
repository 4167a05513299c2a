import Foundation
import NIOConcurrencyHelpers

#if canImport(AppKit)
    import AppKit
#endif

/// Reports notifications of the system or an application as events.
public final class NotificationSource: LifecycleSource {
    /// An observer of a notification centre. Safe to pass between threads: it is only ever returned to its centre,
    /// which accepts it on any thread.
    private struct Observer: @unchecked Sendable {
        let token: any NSObjectProtocol
    }

    private let center: NotificationCenter
    private let events: [Notification.Name: LifecycleEvent]
    private let observers = NIOLockedValueBox<[Observer]>([])

    /// A source of notifications.
    ///
    /// - Parameters:
    ///   - center: The centre that posts them.
    ///   - events: The event for each notification.
    public init(_ center: NotificationCenter, _ events: [Notification.Name: LifecycleEvent]) {
        self.center = center
        self.events = events
    }

    deinit { end() }

    /// Starts to observe.
    public func begin(_ receiver: LifecycleReceiver) {
        let begun = events.map { name, event in
            Observer(token: center.addObserver(forName: name, object: nil, queue: nil) { _ in receiver.tell(event) })
        }
        observers.withLockedValue { $0 += begun }
    }

    /// Stops observing.
    public func end() {
        let ended = observers.withLockedValue { exchange(&$0, with: []) }
        for observer in ended { center.removeObserver(observer.token) }
    }
}

/// The signals of the present system.
public enum SystemLifecycle {
    /// New sources of all of them. Systems without application events, such as Linux, only have the machine's sleep.
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
            // The workspace's own centre reports sleep and user switching.
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
