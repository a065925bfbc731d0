/* ask_terminal.h - asks the terminal for its background. */
#ifndef CMD_ASK_TERMINAL_H
#define CMD_ASK_TERMINAL_H

#include "extra.h"

/* The theme of the background: takes some 0.3 s at most; the mode of the terminal is restored, and
 * what was typed ahead is kept. ATTN_THEME_AUTO: no answer. */
enum attn_theme terminal_ask_theme(void);

#endif
