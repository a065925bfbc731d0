/* ask_terminal_posix.c - asks the terminal for its background color; see ask_terminal.h. */
#include "cmd/line/ask_terminal.h"

#include "tool.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

enum { MOST_MILLISECONDS = 300, ANSWER_SIZE = 256 };

/* Asks for the color of the background (OSC 11) and for the kind of terminal (DA1). Nearly all
 * terminals answer DA1, so there is no long wait for one that doesn't know OSC 11. */
static const char question[] = "\033]11;?\033\\\033[c";

/* Returns true if ANSWER ends with the answer to DA1, such as "\033[?62;22c". */
static bool is_complete(const char *answer)
{
    const char *last = strstr(answer, "\033[?");

    return last && strchr(last, 'c');
}

/* Reads the answer until it is complete or the time is over. */
static void read_answer(char answer[ANSWER_SIZE])
{
    const double end = attn_clock_seconds() + MOST_MILLISECONDS / 1000.0;
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    size_t n = 0;

    while (n + 1 < ANSWER_SIZE && !is_complete(answer)) {
        const double left = 1000 * (end - attn_clock_seconds());
        ssize_t n_read;

        if (left <= 0 || poll(&input, 1, (int)left + 1) <= 0)
            return;
        n_read = read(STDIN_FILENO, answer + n, ANSWER_SIZE - 1 - n);
        if (n_read <= 0)
            return;
        n += (size_t)n_read;
        answer[n] = '\0';
    }
}

/* Parses a color channel of 1 to 4 hexadecimal digits at *text, and advances *text. */
static bool read_channel(const char **text, uint8_t *channel)
{
    unsigned value, most = 0;
    int n = 0;

    if (sscanf(*text, "%4x%n", &value, &n) != 1)
        return false;
    *text += n;
    for (int i = 0; i < n; i++)
        most = most << 4 | 15;
    *channel = (uint8_t)(255 * value / most);
    return true;
}

/* Parses "\033]11;rgb:ffff/ffff/ffff", or the same with "rgba:". Returns the theme for this
 * background. */
static enum attn_theme theme_of(const char *answer)
{
    const char *at = strstr(answer, "\033]11;rgb");
    struct attn_rgb color;

    at = at ? strchr(at, ':') : NULL;
    if (!at)
        return ATTN_THEME_AUTO;
    at++;
    if (!read_channel(&at, &color.r) || *at++ != '/' || !read_channel(&at, &color.g) ||
        *at++ != '/' || !read_channel(&at, &color.b))
        return ATTN_THEME_AUTO;
    return attn_rgb_takes_black(color) ? ATTN_THEME_LIGHT : ATTN_THEME_DARK;
}

enum attn_theme terminal_ask_theme(void)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    struct termios before, during;
    char answer[ANSWER_SIZE] = "";
    sigset_t all, signals;

    if (!isatty(STDOUT_FILENO) || tcgetpgrp(STDIN_FILENO) != getpgrp() ||
        tcgetattr(STDIN_FILENO, &before) != 0)
        return ATTN_THEME_AUTO;
    during = before;
    during.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    during.c_cc[VMIN] = 0;
    during.c_cc[VTIME] = 0;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &signals); /* until the terminal's mode is restored */
    if (tcsetattr(STDIN_FILENO, TCSANOW, &during) == 0) {
        if (poll(&input, 1, 0) == 0 && /* pending keys are for the next program */
            write(STDOUT_FILENO, question, sizeof question - 1) == sizeof question - 1)
            read_answer(answer);
        tcsetattr(STDIN_FILENO, TCSANOW, &before);
    }
    sigprocmask(SIG_SETMASK, &signals, NULL);
    return theme_of(answer);
}
