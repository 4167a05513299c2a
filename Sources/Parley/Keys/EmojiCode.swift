import Terminal

/// Emoji by their short names, which are typed between colons.
enum EmojiCode {
    /// The emoji whose short names begin with the letters after a colon, an exact match first. The letters may end with
    /// the second colon.
    static func beginning(with letters: Substring) -> [String] {
        let isClosed = letters.last == ":"
        let wanted = (isClosed ? letters.dropLast() : letters).lowercased()
        guard !wanted.isEmpty, wanted.first != ":" else { return [] }
        var found: [String] = []
        for (name, emoji) in all where isClosed ? name == wanted : name.hasPrefix(wanted) {
            if found.contains(emoji) { continue }
            if name == wanted { found.insert(emoji, at: 0) } else { found.append(emoji) }
        }
        return found
    }

    /// Replaces short names between colons by their emoji, except in quoted lines, code, times and addresses.
    static func replaced(in text: String) -> String {
        guard text.contains(":") else { return text }
        var isFenced = false
        return text.split(omittingEmptySubsequences: false, whereSeparator: \.breaksLine).map { line -> String in
            if line.hasPrefix("```") { isFenced.toggle() }
            return isFenced || line.hasPrefix("```") || line.first == ">" ? String(line) : replaced(inLine: line)
        }.joined(separator: "\n")
    }

    private static func replaced(inLine line: Substring) -> String {
        var shown = ""
        var rest = line
        while let next = rest.firstIndex(where: { $0 == ":" || $0 == "`" }) {
            shown += rest[..<next]
            rest = rest[next...]
            let inside = rest.dropFirst()
            if rest.first == "`" {
                // Code extends to the next backquote, if there is one.
                let end = inside.firstIndex(of: "`").map { inside.index(after: $0) } ?? inside.startIndex
                shown += rest[..<end]
                rest = rest[end...]
            } else if isApart(shown.last), shown.last != ":", let emoji = emoji(at: inside) {
                shown += emoji.text
                rest = emoji.rest
            } else {
                shown.append(":")
                rest = inside
            }
        }
        return shown + rest
    }

    /// The emoji whose name, followed by a colon, begins a text.
    private static func emoji(at text: Substring) -> (text: String, rest: Substring)? {
        let name = text.prefix(longestName + 1).prefix { $0 != ":" && !$0.isWhitespace }.lowercased()
        let rest = text.dropFirst(name.count)
        guard !name.isEmpty, rest.first == ":", isApart(rest.dropFirst().first) else { return nil }
        return all.first { $0.name == name }.map { ($0.emoji, rest.dropFirst()) }
    }

    /// Whether a character next to a short name does not belong to a word or an address.
    private static func isApart(_ character: Character?) -> Bool {
        character.map { !$0.isLetter && !$0.isNumber && $0 != "/" } ?? true
    }

    private static let longestName = all.reduce(0) { max($0, $1.name.count) }

    static let all: [(name: String, emoji: String)] = {
        let words = table.split(whereSeparator: \.isWhitespace).map(String.init)
        return stride(from: 0, to: words.count - 1, by: 2).map { (words[$0], words[$0 + 1]) }
    }()

    private static let table = """
        +1 👍 -1 👎 100 💯 alarm 🚨 alien 👽 angel 😇 angry 😠 apple 🍎 art 🎨 astonished 😲 ball ⚽ banana 🍌 bear 🐻
        bee 🐝 beer 🍺 beers 🍻 bell 🔔 bike 🚲 bird 🐦 birthday 🎂 blush 😊 boat ⛵ book 📖 boom 💥 brain 🧠
        bread 🍞 broken_heart 💔 bug 🐛 bulb 💡 bus 🚌 cake 🍰 calendar 📅 camera 📷 car 🚗 cat 🐱 chart 📈
        check ✅ cheese 🧀 cherry 🍒 chicken 🐔 clap 👏 clock 🕐 cloud ⛅ cocktail 🍸 coffee ☕ cold 🥶 computer 💻
        confetti 🎊 confused 😕 construction 🚧 cookie 🍪 cool 😎 crab 🦀 cross ❌ crown 👑 cry 😢 dancer 💃
        dash 💨 dizzy 😵 dog 🐶 dolphin 🐬 droplet 💧 duck 🦆 ear 👂 egg 🥚 eyes 👀 facepalm 🤦 fearful 😨 fire 🔥
        fish 🐟 fist ✊ flower 🌸 frog 🐸 frown 😦 ghost 👻 gift 🎁 globe 🌍 grapes 🍇 grin 😁 grinning 😀 hammer 🔨
        handshake 🤝 heart 💙 heart_eyes 😍 horse 🐴 hot 🥵 hourglass ⏳ house 🏠 hug 🤗 ice 🧊
        innocent 😇 joy 😂 key 🔑 kiss 😘 laughing 😆 leaf 🍃 lemon 🍋 link 🔗 lion 🦁 lock 🔒 mail 📧 mask 😷
        medal 🏅 melon 🍈 memo 📝 microscope 🔬 mind_blown 🤯 money 💰 monkey 🐵 moon 🌙 mouse 🐭 muscle 💪
        mushroom 🍄 music 🎵 nerd 🤓 neutral 😐 no_entry ⛔ ok 👌 open_mouth 😮 package 📦 palm 🌴 panda 🐼 partying 🥳
        peach 🍑 penguin 🐧 phone 📞 pig 🐷 pin 📌 pizza 🍕 plane 🛫 please 🙏 point_down 👇 point_left 👈 point_right 👉
        point_up 👆 poop 💩 popcorn 🍿 pray 🙏 puzzle 🧩 question ❓ rabbit 🐰 rage 😡 rainbow 🌈 relaxed 😌 relieved 😌
        robot 🤖 rocket 🚀 rofl 🤣 rose 🌹 sad 😞 salute 🫡 scream 😱 seedling 🌱 shark 🦈 ship 🚢
        shrug 🤷 sick 🤢 skull 💀 sleeping 😴 sleepy 😪 smile 😄 smirk 😏 snail 🐌 snake 🐍 snowman ⛄ sob 😭
        sparkles ✨ speech 💬 squid 🦑 star ⭐ strawberry 🍓 sun 🌞 sunglasses 😎 sweat 😓 sweat_smile 😅 tada 🎉 taxi 🚕
        tea 🍵 thinking 🤔 thumbsdown 👎 thumbsup 👍 tiger 🐯 tired 😫 tongue 😛 train 🚆 tree 🌳 triumph 😤
        trophy 🏆 truck 🚚 turtle 🐢 umbrella ☔ unamused 😒 unicorn 🦄 unlock 🔓 upside_down 🙃 wand 🪄 
        watch ⌚ watermelon 🍉 wave 👋 weary 😩 whale 🐳 wine 🍷 wink 😉 wizard 🧙 worried 😟 wrench 🔧 yawn 🥱 yum 😋
        zap ⚡ zipper 🤐 zzz 💤
        """
}
