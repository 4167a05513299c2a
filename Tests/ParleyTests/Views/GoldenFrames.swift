import Relay
import Terminal
import Testing

@testable import Parley

@Suite("Typical screens")
struct GoldenFrames {
    @Test("A conversation at 120×40")
    func chat120x40() {
        let size = Size(rows: 40, columns: 120)
        expect(
            Scene.chat(size),
            """
             parley  alice@local ──────────────────────────────────────────────────────────── ● CONNECTED 0.4 ms   ⇅ 0   # 9   ✉ 12
             TOPICS                 │── chat.lobby ─────────────────────────────────────────────────────────────────────────────────
            ▌chat.lobby             │
             chat.qa                │
             alerts.>             9 │
             POSTBOX                │
              personal           12 │
              work (off)          0 │
                                    │
                                    │
                                    │
                                    │
                                    │
                                    │
                                    │
                                    │
                                    │
                                    │
                                    │
                                    │
                                    │
                                    │
                                    │
                                    │
                                    │
                                    │
                                    │── the beginning ─────────────────────────────────────────────────────────────────────────────
                                    │── Thursday 20 November ──────────────────────────────────────────────────────────────────────
                                    │ 22:20  bob     good night
                                    │── Friday 21 November ────────────────────────────────────────────────────────────────────────
                                    │ 10:01  bob     hello
                                    │ 10:00  alice   hi there                                                                      ✓
                                    │ 10:00          is it built?                                                                  ✓
                                    │── 7 messages are gone ───────────────────────────────────────────────────────────────────────
                                    │── new ───────────────────────────────────────────────────────────────────────────────────────
                                    │ 10:04  carol   the build is green, and everything that was red yesterday is green with it
                                    │ 10:05  李小龍  日本語のテキスト 👍                                                           ↺
            ────────────────────────┴───────────────────────────────────────────────────────────────────────────────────────────────
             > write to chat.lobby
             ^K commands  F1 help  ^G go to  Alt-a next unread  F2 topics  F3 postbox  F8 log  Tab pane  F9 lab  ^Q quit   ⇣ bottom
            """)
    }

    @Test("A conversation at 80×24")
    func chat80x24() {
        let size = Size(rows: 24, columns: 80)
        expect(
            Scene.chat(size),
            """
             parley  alice@local ──────────────────── ● CONNECTED 0.4 ms   ⇅ 0   # 9   ✉ 12
             TOPICS             │── chat.lobby ─────────────────────────────────────────────
            ▌chat.lobby         │
             chat.qa            │
             alerts.>         9 │
             POSTBOX            │
              personal       12 │
              work (off)      0 │
                                │
                                │── the beginning ─────────────────────────────────────────
                                │── Thursday 20 November ──────────────────────────────────
                                │ 22:20  bob     good night
                                │── Friday 21 November ────────────────────────────────────
                                │ 10:01  bob     hello
                                │ 10:00  alice   hi there                                  ✓
                                │ 10:00          is it built?                              ✓
                                │── 7 messages are gone ───────────────────────────────────
                                │── new ───────────────────────────────────────────────────
                                │ 10:04  carol   the build is green, and everything that
                                │                was red yesterday is green with it
                                │ 10:05  李小龍  日本語のテキスト 👍                       ↺
            ────────────────────┴───────────────────────────────────────────────────────────
             > write to chat.lobby
             ^K commands  F1 help  ^G go to  Alt-a next unread  F9 lab  ^Q quit    ⇣ bottom
            """,
            styles: """
                0: t21 r20 .1 c18 t20
                1: h7 .13 r3 t12 r45
                2: h1 *10 .9 r1
                3: .20 r1
                4: .1 u8 .9 u1 .1 r1
                5: .1 h7 .12 r1
                6: .1 u9 .7 u2 .1 r1
                7: .1 d11 .6 d1 .1 r1
                8: .20 r1
                9: .20 r3 d15 r41
                10: .20 r3 d22 r34
                11: .20 r1 .1 i5 .2 n3
                12: .20 r3 d20 r36
                13: .20 r1 .1 i5 .2 n3
                14: .20 r1 .1 i5 .2 N5 .45 c1
                15: .20 r1 .1 i5 .52 c1
                16: .20 r1 f58
                17: .20 r1 m58
                18: .20 r1 .1 i5 .2 n5
                19: .20 r1
                20: .20 r1 .1 i5 .2 n6 .44 d1
                21: h20 r1 h59
                22: h3 d19
                23: .1 k2 e11 k2 e7 k2 e8 k5 e14 k2 e6 k2 e7 .2 e9
                """)
    }

    @Test("A conversation at 40×12")
    func chat40x12() {
        let size = Size(rows: 12, columns: 40)
        expect(
            Scene.chat(size),
            """
             alice  ● CONNECTED 0.4 ms ⇅ 0 # 9 ✉ 12
            ── chat.lobby ──────────────────────────
            ── 7 messages are gone ────────────────
            ── new ────────────────────────────────
             10:04  carol   the build is green,
                            and everything that
                            was red yesterday is
                            green with it
             10:05  李小龍  日本語のテキスト 👍    ↺
            ────────────────────────────────────────
             > write to chat.lobby
             ^K commands  F1 help          ⇣ bottom
            """)
    }

    @Test("A conversation at 10×3")
    func chat10x3() {
        let size = Size(rows: 3, columns: 10)
        expect(
            Scene.chat(size),
            """
            too small:
            20×5 at
            least
            """)
    }

    @Test("A conversation at 1×1")
    func chat1x1() {
        let size = Size(rows: 1, columns: 1)
        expect(
            Scene.chat(size),
            """
            t
            """)
    }

    @Test("The connection lost at 80×24")
    func outage80x24() {
        let size = Size(rows: 24, columns: 80)
        expect(
            Scene.outage(size),
            """
             alice ─ ↻ RECONNECTING attempt 3 · in 4 s · connection lost   ⇅ 1   # 9   ✉ 12
             TOPICS             │── chat.lobby ─────────────────────────────────────────────
            ▌chat.lobby         │
             chat.qa            │
             alerts.>         9 │
             POSTBOX            │── the beginning ─────────────────────────────────────────
              personal       12 │── Thursday 20 November ──────────────────────────────────
              work (off)      0 │ 22:20  bob     good night
                                │── Friday 21 November ────────────────────────────────────
                                │ 10:01  bob     hello
                                │ 10:00  alice   hi there                                  ✓
                                │ 10:00          is it built?                              ✓
                                │── 7 messages are gone ───────────────────────────────────
                                │ 10:04  carol   the build is green, and everything that
                                │                was red yesterday is green with it
                                │ 10:05  李小龍  日本語のテキスト 👍                       ↺
                                │ 10:00  alice   too much                                  ✗
                                │                not sent: The message takes 200000 bytes
                                │                and at most 131072 are accepted. Shorten
                                │                it. /resend or /discard
                                │ 10:00  alice   and this waits                            …
            ────────────────────┴───────────────────────────────────────────────────────────
             > offline: will be sent when connected
             ^K commands  F1 help  ^G go to  Alt-a next unread  F9 lab  ^Q quit    ⇣ bottom
            """,
            styles: """
                0: t7 r1 .1 w51 t20
                1: h7 .13 r3 t12 r45
                2: h1 *10 .9 r1
                3: .20 r1
                4: .1 u8 .9 u1 .1 r1
                5: .1 h7 .12 r3 d15 r41
                6: .1 u9 .7 u2 .1 r3 d22 r34
                7: .1 d11 .6 d1 .1 r1 .1 i5 .2 n3
                8: .20 r3 d20 r36
                9: .20 r1 .1 i5 .2 n3
                10: .20 r1 .1 i5 .2 N5 .45 c1
                11: .20 r1 .1 i5 .52 c1
                12: .20 r1 f58
                13: .20 r1 .1 i5 .2 n5
                14: .20 r1
                15: .20 r1 .1 i5 .2 n6 .44 d1
                16: .20 r1 .1 i5 .2 N5 .3 d8 .34 f1
                17-18: .20 r1 .16 f40
                19: .20 r1 .16 f23
                20: .20 r1 .1 i5 .2 N5 .3 d14 .28 w1
                21: h20 r1 h59
                22: h3 w36
                23: .1 k2 e11 k2 e7 k2 e8 k5 e14 k2 e6 k2 e7 .2 e9
                """)
    }

    @Test("The connection lost at 40×12")
    func outage40x12() {
        let size = Size(rows: 12, columns: 40)
        expect(
            Scene.outage(size),
            """
             alice  ↻ RECONNECTING 4 s ⇅ 1 # 9 ✉ 12
            ── chat.lobby ──────────────────────────
             10:05  李小龍  日本語のテキスト 👍    ↺
             10:00  alice   too much               ✗
                            not sent: The message
                            takes 200000 bytes and
                            at most 131072 are
                            accepted. Shorten it.
             10:00  alice   and this waits         …
            ────────────────────────────────────────
             > offline: will be sent when connected
             ^K commands  F1 help          ⇣ bottom
            """,
            styles: """
                0: t7 .1 w18 t14
                1: r2 t12 r26
                2: .1 i5 .2 n6 .25 d1
                3: .1 i5 .2 N5 .3 d8 .15 f1
                4: .16 f21
                5: .16 f22
                6: .16 f18
                7: .16 f21
                8: .1 i5 .2 N5 .3 d14 .9 w1
                9: h40
                10: h3 w36
                11: .1 k2 e11 k2 e7 .8 e9
                """)
    }

    @Test("The postbox at 80×24")
    func inbox80x24() {
        let size = Size(rows: 24, columns: 80)
        expect(
            Scene.inbox(size),
            """
             parley  alice@local ────────────────────────── ● CONNECTED 0.4 ms   ⇅ 0   ✉ 30
             TOPICS             │── postbox ─ page 1 of about 2 ─ 1 marked ─────────────────
             chat.lobby         │ *• bob      Lunch on Friday?                          now
            ▌POSTBOX            │  • builder  Your build finished.                      now
              personal    29/30 │▌   carol    A word about the release:                 now
              work            1 │
                                │
                                │
                                │── from carol to personal, 21 Nov 10:03 ───────────────────
                                │ A word about the release:
                                │
                                │ please read the notes before you tag it.
                                │
                                │
                                │
                                │
                                │
                                │
                                │
                                │
                                │
            ────────────────────┴───────────────────────────────────────────────────────────
             > /post USER/POSTBOX TEXT, or Alt-r to reply
             Enter read  Space mark  Del delete  Alt-r reply  F9 lab  ^Q quit           3/3
            """,
            styles: """
                0: t21 r26 .1 c18 t14
                1: h7 .13 r1 h2 t40 h17
                2: .20 r1 h1 m1 u1 .1 n3 .6 *16 .26 i3
                3: h8 .12 r1 h1 m1 u1 .1 n7 .2 *20 .22 i3
                4: .1 u9 .4 u2 d3 .1 r1 =59
                5: .1 u5 .12 u1 .1 r1
                6-7: .20 r1
                8: .20 r3 t38 r19
                9-20: .20 r1
                21: r80
                22: r3 d42
                23: .1 k5 e7 k5 e7 k3 e9 k5 e8 k2 e6 k2 e7 .9 e4
                """)
    }

    @Test("The postbox at 40×12")
    func inbox40x12() {
        let size = Size(rows: 12, columns: 40)
        expect(
            Scene.inbox(size),
            """
             alice  ● CONNECTED 0.4 ms   ⇅ 0   ✉ 30
            ── postbox ─ page 1 of about 5 ─ 1 m… ──
            ── from carol to personal, 21 Nov 10… ──
             A word about the release:

             please read the notes before you tag
             it.


            ────────────────────────────────────────
             > /post USER/POSTBOX TEXT, or Alt-r t…
             Enter read  Space mark             3/3
            """)
    }

    @Test("The connection log at 120×30")
    func log120x30() {
        let size = Size(rows: 30, columns: 120)
        expect(
            Scene.log(size),
            """
             parley  alice@local ───────────────────────────────────────── ● CONNECTED 2.0 ms · back after 2.6 s   ⇅ 0   # 9   ✉ 12
             TOPICS                 │── connection log ─ 11 entries ────────────────────────────────────────────────────────────────
            ▌chat.lobby             │── Friday 21 November 2025 ───────────────────────────────────────────────────────────────────
             chat.qa                │ 10:00:00.000  · the terminal lost the focus
             alerts.>             9 │ 10:00:00.000  · chat.lobby: 7 messages lost
             POSTBOX                │ 10:00:00.000  · the terminal has the focus again
              personal           12 │ 10:00:00.000  ○ NOT CONNECTED
              work (off)          0 │ 10:00:00.007  ◌ CONNECTING · attempt 1
                                    │ 10:00:00.127  ● CONNECTED · 0.4 ms · after 0.1 s connecting
                                    │ 10:03:20.127  ↻ RECONNECTING · next try in 40 ms · after 3 min 20 s connected · The
                                    │               connection was lost (the server closed the connection).
                                    │ 10:03:20.167  ↻ RECONNECTING · attempt 1
                                    │ 10:03:20.174  ↻ RECONNECTING · attempt 1 · next try in 2.5 s · The server cannot be reached
                                    │               (nothing answers at nats://127.0.0.1:40123).
                                    │ 10:03:22.674  ↻ RECONNECTING · attempt 2
                                    │ 10:03:22.707  ● CONNECTED · 2.0 ms · after 2.6 s reconnecting
                                    │
                                    │
                                    │
                                    │
                                    │
                                    │
                                    │
                                    │
                                    │
                                    │
                                    │
            ────────────────────────┴───────────────────────────────────────────────────────────────────────────────────────────────
             > write to chat.lobby
             Esc close  Up scroll  Home oldest  ^Q quit                                                                    ⇣ newest
            """)
    }

    @Test("The connection log at 80×24")
    func log80x24() {
        let size = Size(rows: 24, columns: 80)
        expect(
            Scene.log(size),
            """
             parley  alice@local ─ ● CONNECTED 2.0 ms · back after 2.6 s   ⇅ 0   # 9   ✉ 12
             TOPICS             │── connection log ─ 11 entries ────────────────────────────
            ▌chat.lobby         │── Friday 21 November 2025 ───────────────────────────────
             chat.qa            │ 10:00:00.000  · the terminal lost the focus
             alerts.>         9 │ 10:00:00.000  · chat.lobby: 7 messages lost
             POSTBOX            │ 10:00:00.000  · the terminal has the focus again
              personal       12 │ 10:00:00.000  ○ NOT CONNECTED
              work (off)      0 │ 10:00:00.007  ◌ CONNECTING · attempt 1
                                │ 10:00:00.127  ● CONNECTED · 0.4 ms · after 0.1 s
                                │               connecting
                                │ 10:03:20.127  ↻ RECONNECTING · next try in 40 ms · after
                                │               3 min 20 s connected · The connection was
                                │               lost (the server closed the connection).
                                │ 10:03:20.167  ↻ RECONNECTING · attempt 1
                                │ 10:03:20.174  ↻ RECONNECTING · attempt 1 · next try in
                                │               2.5 s · The server cannot be reached
                                │               (nothing answers at
                                │               nats://127.0.0.1:40123).
                                │ 10:03:22.674  ↻ RECONNECTING · attempt 2
                                │ 10:03:22.707  ● CONNECTED · 2.0 ms · after 2.6 s
                                │               reconnecting
            ────────────────────┴───────────────────────────────────────────────────────────
             > write to chat.lobby
             Esc close  Up scroll  Home oldest  ^Q quit                            ⇣ newest
            """)
    }

    @Test("The connection log at 40×12")
    func log40x12() {
        let size = Size(rows: 12, columns: 40)
        expect(
            Scene.log(size),
            """
             alice ─ ● CONNECTED · back after 2.6 s
            ── connection log ─ 11 entries ─────────
              attempt 1 · next try in 2.5 s · The
              server cannot be reached (nothing
              answers at nats://127.0.0.1:40123).
             10:03:22.674 ↻ RECONNECTING
              attempt 2
             10:03:22.707 ● CONNECTED
              2.0 ms · after 2.6 s reconnecting
            ────────────────────────────────────────
             > write to chat.lobby
             Esc close  Up scroll          ⇣ newest
            """)
    }

    @Test("The connection log at 20×5")
    func log20x5() {
        let size = Size(rows: 5, columns: 20)
        expect(
            Scene.log(size),
            """
             alice  ● CONNECTED
              CONNECTED · 2.0 ms
              · after 2.6 s
              reconnecting
             > write to chat.l…
            """)
    }

    @Test("The help at 80×24")
    func help80x24() {
        let size = Size(rows: 24, columns: 80)
        expect(
            Scene.help(size),
            """
             parley  alice@local ──────────────────── ● CONNECTED 0.4 ms   ⇅ 0   # 9   ✉ 12
             TOPICS             │── chat.lobby ─────────────────────────────────────────────
            ▌cha┌─ Help ───────────────────────────────────────────────────────────────┐
             cha│ Everywhere                                                           │
             ale│ ^K Alt-x              find a command; within a text ^K cuts the rest │
             POS│ F1                    this help                                      │
              pe│ ^G Alt-g              go to a topic, postbox or person               │
              wo│ Alt-u                 what is new here: where you left off           │
                │ Alt-a                 next unread topic, mentions first; then back   │
                │ F2                    go to the topics                               │───
                │ F3                    open the postbox                               │───
                │ F5                    fold the topics away, or show them             │
                │ F8                    open the connection log, or close it           │───
                │ F9                    break this chat's connection: a rehearsal      │
                │ Tab                   next pane                                      │   ✓
                │ Shift-Tab             previous pane                                  │   ✓
                │ Alt-Up ^P             previous topic                                 │───
                │ Alt-Down ^N           next topic                                     │───
                │ Alt-/                 back to where you were, and forth              │
                │ PgUp                  page up                                        │
                │ PgDn                  page down                                      │   ↺
            ────└─ PgDn more  Esc closes ──────────────────────────────────────────────┘────
             > write to chat.lobby
             ^K commands  F1 help  ^G go to  Alt-a next unread  F9 lab  ^Q quit    ⇣ bottom
            """)
    }

    @Test("The help at 20×5")
    func help20x5() {
        let size = Size(rows: 5, columns: 20)
        expect(
            Scene.help(size),
            """
            ┌─ Help ───────────┐
            │ Everywhere       │
            │ ^K Alt-x         │
            │   find a         │
            └─ PgDn  Esc ──────┘
            """,
            styles: """
                0: r2 t6 r12
                1: r1 v1 h10 v7 r1
                2: r1 v1 k8 v9 r1
                3: r1 v3 .6 v9 r1
                4: r2 .11 r7
                """)
    }

    @Test("The commands that have some letters at 80×24")
    func commands80x24() {
        let size = Size(rows: 24, columns: 80)
        expect(
            Scene.commands(size),
            """
             parley  alice@local ──────────────────── ● CONNECTED 0.4 ms   ⇅ 0   # 9   ✉ 12
             TOPICS             │── chat.lobby ─────────────────────────────────────────────
            ▌cha┌─ Commands ─────────────────────────────────────────────── 68 of 183 ─┐
             cha│ > lea                                                                │
             ale│──────────────────────────────────────────────────────────────────────│
             POS│ ▌/leave [TOPIC]  leave this topic, or that one                       │
              pe│  look for an earlier line by its letters  Editing the text        ^R │
              wo│  save the letter in a file  Postbox                            Alt-s │
                │  copy what was found, or what /find has led to  Around what was …  y │
                │  cut to the left, up to a blank  Editing the text                 ^W │───
                │  send the line again that was not sent  Conversation               r │───
                │  a line up, or an earlier text  Editing the text                  Up │
                │  reply below what the letter says  Postbox                     Alt-q │───
                │  filter letters that have some words, or is:unread  Postbox    Alt-l │
                │  /quit  leave Parley                                              ^Q │   ✓
                │  the message above; within a long one a line  Conversation        Up │   ✓
                │  a line up  Around what was found                                 Up │───
                │  a line up  A message as a whole                                  Up │───
                │                                                                      │
                │                                                                      │
                │                                                                      │   ↺
            ────└──────────────────────────────────────────────────────────────────────┘────
             > write to chat.lobby
             Enter choose  Esc close  Up up  Down down  ^Q quit                        1/68
            """)
    }

    @Test("The commands that have some letters at 20×5")
    func commands20x5() {
        let size = Size(rows: 5, columns: 20)
        expect(
            Scene.commands(size),
            """
             alice  ● CONNECTED
            > lea
            ▌/leave [TOPIC]
             look for an ea…  ^R
             save the le…  Alt-s
            """)
    }

    @Test("The places to go at 120×40")
    func places120x40() {
        let size = Size(rows: 40, columns: 120)
        expect(
            Scene.places(size),
            """
             parley  alice@local ──────────────────────────────────────────────────────────── ● CONNECTED 0.4 ms   ⇅ 0   # 9   ✉ 12
             TOPICS                 │── chat.lobby ─────────────────────────────────────────────────────────────────────────────────
            ▌chat.lobby       ┌─ Go to ─────────────────────────────────────────────────────────────── 11 of 11 ─┐
             chat.qa          │ > a topic, postbox or person                                                     │
             alerts.>         │──────────────────────────────────────────────────────────────────────────────────│
             POSTBOX          │ ▌alerts.>  pattern                                                             9 │
              personal        │  chat.lobby                                                                      │
              work (off)      │  chat.qa                                                                         │
                              │  all letters  postbox                                                         12 │
                              │  personal  postbox                                                            12 │
                              │  work  postbox                                                                   │
                              │  李小龍  where last seen                                 chat.lobby 21 Nov 10:05 │
                              │  carol  write a letter to carol/personal                                         │
                              │  carol  where last seen                                  chat.lobby 21 Nov 10:04 │
                              │  bob  write a letter to bob/personal                                             │
                              │  bob  where last seen                                    chat.lobby 21 Nov 10:01 │
                              │                                                                                  │
                              │                                                                                  │
                              │                                                                                  │
                              │                                                                                  │
                              │                                                                                  │
                              └──────────────────────────────────────────────────────────────────────────────────┘
                                    │
                                    │
                                    │
                                    │
                                    │── the beginning ─────────────────────────────────────────────────────────────────────────────
                                    │── Thursday 20 November ──────────────────────────────────────────────────────────────────────
                                    │ 22:20  bob     good night
                                    │── Friday 21 November ────────────────────────────────────────────────────────────────────────
                                    │ 10:01  bob     hello
                                    │ 10:00  alice   hi there                                                                      ✓
                                    │ 10:00          is it built?                                                                  ✓
                                    │── 7 messages are gone ───────────────────────────────────────────────────────────────────────
                                    │── new ───────────────────────────────────────────────────────────────────────────────────────
                                    │ 10:04  carol   the build is green, and everything that was red yesterday is green with it
                                    │ 10:05  李小龍  日本語のテキスト 👍                                                           ↺
            ────────────────────────┴───────────────────────────────────────────────────────────────────────────────────────────────
             > write to chat.lobby
             Enter choose  Esc close  Up up  Down down  ^Q quit                                                                1/11
            """)
    }

    @Test("Nothing joined yet at 60×12")
    func welcome60x12() {
        let size = Size(rows: 12, columns: 60)
        expect(
            Desk(size: size),
            """
             parley  alice@local ─────── ● CONNECTED 0.4 ms   ⇅ 0   ✉ 0
             TOPICS             │── welcome ────────────────────────────
             POSTBOX            │
                                │  Nothing is joined yet.
                                │
                                │  /join chat.lobby  joins a topic
                                │  F3  opens your postbox
                                │  F1  shows all keys and commands
                                │  ^K  finds any of them by its name
            ────────────────────┴───────────────────────────────────────
             > /join TOPIC
             ^K commands  F1 help  ^G go to  F2 topics  F3 postbox
            """,
            styles: """
                0: t21 r7 .1 c18 t13
                1: h7 .13 r3 t9 r28
                2: .1 h7 .12 r1
                3-8: .20 r1
                9: h20 r1 h39
                10: h3 d11
                11: .1 k2 e11 k2 e7 k2 e8 k2 e9 k2 e10 .3 e1
                """)
    }

    private func expect(
        _ desk: Desk, _ golden: String, styles: String? = nil, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        expectScreen(desk, golden, styles: styles, sourceLocation: sourceLocation)
    }
}
