// The terminal emulator that tests read the screen through (libvterm 0.1.4 or newer).
#pragma once
#include <vterm.h>
