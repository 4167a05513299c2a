extension String {
    /// Whether this can name a user or a postbox, which is one token of a subject: 1 to 64 visible ASCII characters,
    /// and none of `.`, `*`, `>`, `/` and `\`.
    var isSubjectToken: Bool {
        !isEmpty && utf8.count <= 64
            && utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !".*>/\\".utf8.contains($0) }
    }
}
