#ifndef CTERMINAL_H
#define CTERMINAL_H

// The feature macros are set here, because Swift's importer does not see those of the build settings.
#define _XOPEN_SOURCE_EXTENDED 1
#define NCURSES_WIDECHAR 1
#define NCURSES_NOMACROS 1

#include <curses.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// MARK: ncurses, where Swift cannot reach it

// Text attributes, which are macros.
static inline uint32_t cterminal_attribute_bold(void) { return (uint32_t)A_BOLD; }
static inline uint32_t cterminal_attribute_dim(void) { return (uint32_t)A_DIM; }
static inline uint32_t cterminal_attribute_underline(void) { return (uint32_t)A_UNDERLINE; }
static inline uint32_t cterminal_attribute_reverse(void) { return (uint32_t)A_REVERSE; }
#ifdef A_ITALIC
static inline uint32_t cterminal_attribute_italic(void) { return (uint32_t)A_ITALIC; }
#else
static inline uint32_t cterminal_attribute_italic(void) { return 0; }
#endif

// Global variables.
static inline WINDOW *cterminal_standard_window(void) { return stdscr; }
static inline int cterminal_lines(void) { return LINES; }
static inline int cterminal_columns(void) { return COLS; }
static inline int cterminal_colors(void) { return COLORS; }
static inline int cterminal_color_pairs(void) { return COLOR_PAIRS; }
/// Where ncurses has left the cursor.
static inline int cterminal_cursor_row(void) { return curscr != NULL ? getcury(curscr) : 0; }
static inline int cterminal_cursor_column(void) { return curscr != NULL ? getcurx(curscr) : 0; }
/// Makes the next update paint every cell, whatever ncurses believes is on the screen.
static inline void cterminal_forget_screen(void) { clearok(curscr, TRUE); }

/// Looks up a type in the terminal database, while no terminal is open. Returns its number of colours, or -1 for an
/// unknown type, -2 for no database, -3 for a type that cannot place the cursor, -4 for one that is no screen.
int cterminal_look_up(const char *type);
/// Opens ncurses on standard input and output for the terminal type `type`: raw, no echo, no newline translation.
/// It does not say why it refuses a type; `cterminal_look_up` does.
bool cterminal_open(const char *type);
/// Ends what `cterminal_open` began, and frees it.
void cterminal_close(void);
/// Selects a UTF-8 character set for this process; false if the system has none.
bool cterminal_use_utf8(void);
/// A string capability of the open terminal, or NULL.
const char *cterminal_capability(const char *name);
/// The number of columns that the C library gives `scalar`, or -1.
int cterminal_width(uint32_t scalar);
/// Defines a colour pair, numbered up to 32767; -1 is the terminal's default colour.
bool cterminal_define_pair(int pair, int foreground, int background);
/// Puts one cell: a base and up to four marks (0: none). The bottom right corner does not scroll.
void cterminal_put(int row, int column, uint32_t base, uint32_t mark1, uint32_t mark2, uint32_t mark3, uint32_t mark4,
                   uint32_t attributes, int pair);
/// Stores a capability's sequence with two parameters, to be written past ncurses: at most `capacity` bytes. Returns
/// their number, 0 if the terminal has no such sequence.
size_t cterminal_capability_bytes(const char *name, int first, int second, uint8_t *bytes, size_t capacity);
/// Stores the sequence that changes the current attributes and colour pair to others. ncurses assumes from then on that
/// it was sent.
size_t cterminal_attribute_bytes(uint32_t attributes, int pair, uint8_t *bytes, size_t capacity);

// MARK: the signal-safe restore

/// What happened since the last `cterminal_take_events`.
enum cterminal_event {
    CTERMINAL_EVENT_RESIZED = 1,
    /// SIGTSTP asks for `cterminal_stop`.
    CTERMINAL_EVENT_STOP = 2,
    /// The process runs again after a stop; the terminal's state is unknown.
    CTERMINAL_EVENT_CONTINUED = 4,
    /// A signal asks for the end; `cterminal_pending_death` names it.
    CTERMINAL_EVENT_DEATH = 8
};

/// Makes a pipe that neither blocks nor outlives an exec; false with errno on failure.
bool cterminal_make_pipe(int ends[2]);
/// Installs every handler; terminal signals act on the calling thread from then on. Returns the readable end of the
/// pipe that wakes a `poll`, or -1 with errno.
int cterminal_install(void);
/// Restores the handlers that `cterminal_install` found. With `ends_process`, SIGHUP is ignored from then on, so that a
/// closed terminal does not end the process before its work is done.
void cterminal_uninstall(bool ends_process);
/// Sets what the handlers write: `restore` to leave the screen, `enter` to take it again. Longer strings are refused.
bool cterminal_set_strings(const uint8_t *restore, size_t restore_count, const uint8_t *enter, size_t enter_count);
/// Tells the handlers whether the terminal is in the session's modes now.
void cterminal_set_active(bool active);
/// Tells the handlers that the modes are about to be the shell's, in which keys become signals meant for others.
void cterminal_stop_taking_keys(void);
/// Empties the pipe and returns the events as a set of `cterminal_event` bits.
int cterminal_take_events(void);
/// The signal that asked for the process's end, or 0.
int cterminal_pending_death(void);
/// Gives the process `seconds` more before the handlers end it themselves.
void cterminal_extend_grace(unsigned seconds);
/// Ends the process by `signal`'s default action, so that the parent sees that signal.
void cterminal_die(int signal) __attribute__((noreturn));
/// Settles a request to stop, and says whether a stop makes sense: false when no job-control shell could continue us.
bool cterminal_can_stop(void);
/// Whether a request to stop is still to be settled.
bool cterminal_stop_is_pending(void);
/// Stops this process, or with `whole_group` its process group; returns when it runs again.
void cterminal_stop(bool whole_group);

/// Redirects descriptor 2 into a bounded pipe while the screen is taken, if it is a terminal.
void cterminal_capture_errors(void);
/// Ends the redirection and writes what was caught to the real standard error.
void cterminal_release_errors(void);

#endif
