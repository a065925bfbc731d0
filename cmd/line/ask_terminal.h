/* ask_terminal.h - asks the terminal for its background. */
#ifndef CMD_ASK_TERMINAL_H
#define CMD_ASK_TERMINAL_H

#include "extra.h"

/* Returns the theme of the terminal's background; ATTN_THEME_AUTO: no answer in 0.3 s. The mode of
 * the terminal is as before, and keys that wait are not read. */
enum attn_theme terminal_ask_theme(void);

#endif
