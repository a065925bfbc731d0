/* ask_terminal.h - asks the terminal for its background color. */
#pragma once

#include "extra.h"

/* Returns the theme of the terminal's background; ATTN_THEME_AUTO if it does not answer within 0.3
 * s. The mode of the terminal is restored, and no keys are read. */
enum attn_theme terminal_ask_theme(void);
