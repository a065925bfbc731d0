/*
 * interrupt_windows.c - see interrupt.h. Windows calls a handler on a thread of its own. A mapped
 * file cannot get shorter there.
 */
#include "cmd/line/interrupt.h"

#include "cmd/line/command.h"
#include "tool.h"

#include <windows.h>

enum {
    REPEAT_MILLISECONDS = 1000, /* a second Ctrl-C ends the process only after this time */
    END_MILLISECONDS = 5000,    /* what Windows gives a process whose console is closed */
};

static volatile sig_atomic_t must_stop;
static ULONGLONG first; /* time of the first event */

/* After a return from an event other than Ctrl-C and Ctrl-Break, Windows ends the process. */
static BOOL WINAPI on_interrupt(DWORD event)
{
    const bool is_first = __atomic_exchange_n(&must_stop, 1, __ATOMIC_RELAXED) == 0;

    if (event != CTRL_C_EVENT && event != CTRL_BREAK_EVENT)
        Sleep(END_MILLISECONDS);
    if (is_first)
        first = GetTickCount64();
    return is_first || GetTickCount64() - first <= REPEAT_MILLISECONDS;
}

void interrupt_prepare(void) {}

void interrupt_catch(void)
{
    SetConsoleCtrlHandler(on_interrupt, TRUE);
}

const volatile sig_atomic_t *interrupt_flag(void)
{
    return &must_stop;
}

bool interrupt_is_pending(void)
{
    return __atomic_load_n(&must_stop, __ATOMIC_RELAXED) != 0;
}

enum attn_status interrupt_check(struct attn_error *err)
{
    return interrupt_is_pending() ? attn_error_set(err, ATTN_CANCELED, "interrupted") : ATTN_OK;
}

void interrupt_end(void)
{
    if (interrupt_is_pending())
        ExitProcess(STATUS_CONTROL_C_EXIT);
}

void interrupt_watch_weights(const struct attn_tensor_files *weights)
{
    (void)weights;
}

void interrupt_watch_host(const struct attn_host *host)
{
    (void)host;
}

bool interrupt_is_model_truncated(void)
{
    return false;
}
