/* process_posix.c - see process.h. It hides variables that would change libxsmm. */
#include "cmd/line/process.h"

#include "cmd/line/command.h"
#include "cmd/line/report.h"
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Opens /dev/null for descriptors 0, 1 and 2 if they are closed. Else the next file that is opened
 * would get such a number, and output would be written to it. Descriptor 1 is opened for reading,
 * so that writing to it is still an error. */
static void open_standard_streams(void)
{
    static const int modes[] = {O_RDONLY, O_RDONLY, O_WRONLY};

    for (int descriptor = 0; descriptor <= STDERR_FILENO; descriptor++)
        if (fcntl(descriptor, F_GETFD) == -1 && errno == EBADF &&
            open("/dev/null", modes[descriptor]) != descriptor)
            _exit(EXIT_INTERNAL);
}

/* Variables such as LIBXSMM_VERBOSE make libxsmm print and write files. This program alone decides
 * about its settings. */
static void clear_libxsmm_environment(void)
{
    char **kept = environ;

    for (char **variable = environ; *variable; variable++)
        if (strncmp(*variable, "LIBXSMM_", 8) != 0)
            *kept++ = *variable;
    *kept = NULL;
}

void process_begin(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    open_standard_streams();
    clear_libxsmm_environment();
}

/* The program needs up to 60 KiB, and libxsmm 130 KiB when it makes code. The stack also has the
 * arguments and the environment at its top; the last of these texts shows where it begins. */
enum attn_status process_check_stack(struct attn_error *err)
{
    enum { KIB = 1024, LEAST = 192 * KIB };
    struct rlimit limit;
    char **last = environ;
    size_t used = 0;
    while (*last && last[1])
        last++;
    if (*last && (uintptr_t)*last > (uintptr_t)&limit)
        used = (uintptr_t)*last + strlen(*last) - (uintptr_t)&limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
        (limit.rlim_cur >= used && limit.rlim_cur - used >= LEAST))
        return ATTN_OK;
    return problem(err, ATTN_STAGE_NONE, "'ulimit -s 8192' is what most systems have",
                   "the stack is limited to %llu KiB, expected at least %d beside arguments "
                   "and environment",
                   (unsigned long long)limit.rlim_cur / KIB, LEAST / KIB);
}
