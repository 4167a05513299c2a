import Relay

/// A user's postboxes: one value of the bucket `relay_postboxes`, so every change is one compare-and-set.
struct PostboxRegister: Codable, Hashable, Sendable {
    static let limit = 100
    static let firstName = "personal"

    /// The identity (Sudo) of postboxes made without one.
    var sudoId: String
    var postboxes: [PostboxReply.Entry]

    init(sudoId: String, at now: Int64) {
        self.sudoId = sudoId
        postboxes = [.init(id: Self.firstName, name: Self.firstName, sudoId: sudoId, isEnabled: true, createdAt: now)]
    }

    enum Change: String, Sendable { case create, rename, enable, disable, delete }

    mutating func apply(
        _ change: Change, _ request: PostboxRequest, at now: Int64
    ) throws(PostboxReply.Failure) -> PostboxReply.Entry {
        guard let name = request.name, Self.isName(name) else { throw .invalidName }
        let index = postboxes.firstIndex { $0.name == name }
        if change == .create {
            guard index == nil, !isCalled(name) else { throw .exists }
            guard postboxes.count < Self.limit else { throw .limitExceeded }
            let sudoId = request.sudoId ?? sudoId
            guard (1...128).contains(sudoId.utf8.count) else { throw .invalidRequest }
            let entry = PostboxReply.Entry(id: name, name: name, sudoId: sudoId, isEnabled: true, createdAt: now)
            postboxes.append(entry)
            return entry
        }
        guard let index, request.sudoId.map({ $0 == postboxes[index].sudoId }) ?? true else { throw .notFound }
        switch change {
        case .delete: return postboxes.remove(at: index)
        case .enable, .create: postboxes[index].isEnabled = true
        case .disable: postboxes[index].isEnabled = false
        case .rename: postboxes[index].title = try title(request.title, of: name)
        }
        return postboxes[index]
    }

    private func title(_ text: String?, of name: String) throws(PostboxReply.Failure) -> String? {
        guard let text, PostboxRequest.title(text) == text else { throw .invalidTitle }
        guard text != name else { return nil }
        guard !isCalled(text, besides: name) else { throw .titleTaken }
        return text
    }

    /// Whether another postbox has this name or title, or one that looks the same.
    private func isCalled(_ text: String, besides name: String? = nil) -> Bool {
        let visible = PostboxRequest.visible(text)
        return postboxes.contains { postbox in
            guard postbox.name != name else { return false }
            return postbox.name == visible || postbox.title.map { PostboxRequest.visible($0) } == visible
        }
    }

    /// The subjects of the user's stream: one per enabled postbox and any sender or, since a stream needs one, a
    /// subject that no user may send to. All contain a wildcard, as JetStream delivers to any literal subject.
    func subjects(of user: UserName) -> [String] {
        let enabled = postboxes.filter(\.isEnabled).map { NetworkNames.letters(to: user.text, $0.id, from: "*") }
        return enabled.isEmpty ? ["postbox-none.\(user).*"] : enabled
    }

    /// Whether a text is a valid postbox name: one subject token of letters, digits, `_` and `-`.
    static func isName(_ text: String) -> Bool { (1...64).contains(text.utf8.count) && text.isWord() }
}

extension PostboxReply.Failure: Error {}
