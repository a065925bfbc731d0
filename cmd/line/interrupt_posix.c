/*
 * interrupt_posix.c - the process's signal handlers; they set flags and call nothing that is not
 * safe in a handler.
 *
 * If a mapped file gets shorter, the thread that reads a missing page gets SIGBUS. A jump out of a
 * worker thread would block its pool, so the handler maps a page of zeros there and asks the
 * session to stop. The run then ends like after any other failure.
 */
#include "cmd/line/interrupt.h"

#include "cmd/line/command.h"
#include "tool.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum { REPEAT_SECONDS = 1 }; /* a second signal ends the process only after this time */

static volatile sig_atomic_t must_stop;
static volatile sig_atomic_t caught;       /* number of the signal, or 0 */
static volatile sig_atomic_t is_truncated; /* a watched weights file became shorter */
static const struct attn_tensor_files *volatile watched;
static const struct attn_host *volatile watched_host;

/* A signal may arrive on any thread, and any thread may read the flag. */
static void set(volatile sig_atomic_t *flag, int value)
{
    __atomic_store_n(flag, value, __ATOMIC_RELAXED);
}

static int get(const volatile sig_atomic_t *flag)
{
    return __atomic_load_n(flag, __ATOMIC_RELAXED);
}

/* `timeout` and similar programs send their signal twice, to the process and to its group. The
 * second one must not end the process before temporary files are removed. */
static void on_interrupt(int number)
{
    static double first; /* clock of the first signal, in seconds */
    const double now = attn_clock_seconds();

    if (get(&caught) == 0) {
        first = now;
        set(&caught, number);
        set(&must_stop, 1);
    } else if (now - first > REPEAT_SECONDS) {
        signal(number, SIG_DFL);
        raise(number); /* takes effect when this handler returns */
        if (getpid() == 1)
            _exit(128 + number);
    }
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
    static const char message[] = "attn-cli: error: " INTERRUPT_TRUNCATED "\n";
    const struct attn_tensor_files *weights = watched;
    const struct attn_host *host = watched_host;
    const uintptr_t page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
    char *page = (char *)info->si_addr - (uintptr_t)info->si_addr % page_size;

    (void)context;
    /* weights are just being opened: there is no session to stop, and nothing was written */
    if (!weights && !host && info->si_code == BUS_ADRERR) {
        const ssize_t ignored = write(STDERR_FILENO, message, sizeof message - 1);

        (void)ignored;
        _exit(EXIT_MODEL);
    }
    if (!((weights && attn_tensor_files_owns_address(weights, info->si_addr)) ||
          (host && attn_host_owns_address(host, info->si_addr))) ||
        mmap(page, page_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
            MAP_FAILED) {
        /* not caused by weights: the access is repeated, and then ends the process */
        signal(number, SIG_DFL);
        return;
    }
    set(&is_truncated, 1);
    set(&must_stop, 1);
}

void interrupt_prepare(void)
{
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};

    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}

void interrupt_catch(void)
{
    /* the last three are sent by ulimit -t and by batch schedulers shortly before the time limit */
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGXCPU, SIGUSR1, SIGUSR2};
    struct sigaction action = {.sa_handler = on_interrupt};

    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaddset(&action.sa_mask, numbers[i]); /* one at a time */
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction old;

        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    }
}

const volatile sig_atomic_t *interrupt_flag(void)
{
    return &must_stop;
}

bool interrupt_is_pending(void)
{
    return get(&caught) != 0;
}

enum attn_status interrupt_check(struct attn_error *err)
{
    return get(&caught) != 0 ? attn_error_set(err, ATTN_CANCELED, "interrupted") : ATTN_OK;
}

void interrupt_end(void)
{
    const int number = get(&caught);

    if (number == 0)
        return;
    signal(number, SIG_DFL);
    raise(number);
    _exit(128 + number); /* in a container, process 1 survives the signal */
}

void interrupt_watch_weights(const struct attn_tensor_files *weights)
{
    watched = weights;
}

void interrupt_watch_host(const struct attn_host *host)
{
    watched_host = host;
}

bool interrupt_is_model_truncated(void)
{
    return get(&is_truncated) != 0;
}
