/*
 * interrupt.c - the process's signal handlers; they set flags and call nothing that is not safe in
 * a handler.
 *
 * A file that shrinks while it is mapped raises SIGBUS on whichever thread touches the missing
 * page. Jumping out of a worker thread would leave its pool hanging, so the handler puts a page of
 * zeros in the place and asks the session to stop; the run then unwinds like any other failure.
 */
#include "cmd/line/interrupt.h"

#include "cmd/line/command.h"
#include "tool.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum { REPEAT_SECONDS = 1 }; /* a signal this much later ends the process */

static volatile sig_atomic_t must_stop;
static volatile sig_atomic_t caught;       /* the signal, or 0 */
static volatile sig_atomic_t is_truncated; /* the watched weights lost pages */
static const struct attn_tensor_files *volatile watched;
static const struct attn_host *volatile watched_host;

/* Signals come on any thread, and any looks. */
static void set(volatile sig_atomic_t *flag, int value)
{
    __atomic_store_n(flag, value, __ATOMIC_RELAXED);
}

static int get(const volatile sig_atomic_t *flag)
{
    return __atomic_load_n(flag, __ATOMIC_RELAXED);
}

/* `timeout` and others send their signal twice, to the process and to its group. The second must
 * not end the process before temporary files are removed. */
static void on_interrupt(int number)
{
    static double first; /* seconds of the clock */
    const double now = attn_clock_seconds();

    if (get(&caught) == 0) {
        first = now;
        set(&caught, number);
        set(&must_stop, 1);
    } else if (now - first > REPEAT_SECONDS) {
        signal(number, SIG_DFL);
        raise(number); /* once this returns */
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
    /* While weights are being opened there is no session to stop, and nothing has been written. */
    if (!weights && !host && info->si_code == BUS_ADRERR) {
        const ssize_t ignored = write(STDERR_FILENO, message, sizeof message - 1);

        (void)ignored;
        _exit(EXIT_MODEL);
    }
    if (!((weights && attn_tensor_files_owns_address(weights, info->si_addr)) ||
          (host && attn_host_owns_address(host, info->si_addr))) ||
        mmap(page, page_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
            MAP_FAILED) {
        signal(number, SIG_DFL); /* not ours: the access is repeated and ends the process */
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
    /* The last three come from ulimit -t and batch schedulers: the time is nearly over. */
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
    _exit(128 + number); /* process 1 of a container outlives the signal */
}

void interrupt_watch_weights(const struct attn_tensor_files *weights)
{
    watched = weights;
}

void interrupt_watch_host(const struct attn_host *host)
{
    watched_host = host;
}

void interrupt_watch_model(const struct attn_model *model)
{
    interrupt_watch_weights(model ? attn_model_files(model) : NULL);
}

bool interrupt_is_model_truncated(void)
{
    return get(&is_truncated) != 0;
}
