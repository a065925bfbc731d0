/*
 * adversary.c - lets the library and the tool read what the grammars make.
 *
 *     adversary list                                  the formats
 *     adversary try FORMAT FIRST N                    N cases in this process
 *     adversary tool FORMAT FIRST N STEP              every STEP-th of N cases with attn-cli
 *     adversary save FORMAT CASE FOLDER               the files of a case; says what it is
 *     adversary judge FORMAT FIRST N FOLDER           the same of N cases, each in FOLDER/CASE: a
 * line for each, CASE, what it is meant to be, whether it was taken, and its defect
 *
 * The first two print one line of figures, and a line `FAILED FORMAT CASE WHAT` for each failure,
 * and end with 1 when there was one. Cases run in a child process, so that the death of one is a
 * failure like any other.
 *
 * A case fails when it is not taken or refused as it was meant; when something else is read than
 * was written; when the message is not one printable line; when it takes more than SECONDS of the
 * processor or more memory than its size allows. With the tool also when the exit status
 * is another, or something was written before a refusal.
 */
#include "tests/adversary/case.h"
#include "tests/adversary/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SECONDS = 2, MAX_FAILURE = 10, SCRAMBLED_PERCENT = 12 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SLOWNESS = 10, IS_MEASURED = 0 }; /* what is freed stays resident, and shadows are large */
#else
enum { SLOWNESS = 1, IS_MEASURED = 1 };
#endif

static const struct attn_grammar *const grammars[] = {
#define ROW(name) &attn_grammar_##name,
    ATTN_GRAMMAR_MAP(ROW)
#undef ROW
};

enum { N_GRAMMAR = sizeof grammars / sizeof *grammars };

/* What the child tells: shared memory. */
struct progress {
    size_t at;                  /* the case that is running */
    size_t n[3];                /* by what is meant */
    size_t n_odd;               /* of unknown meaning that were taken */
    size_t n_run;               /* with the tool */
    double slowest;             /* seconds of the processor */
    size_t most;                /* bytes of memory that one case added */
    size_t slowest_at, most_at; /* which cases these were */
    size_t n_failed;
};

static struct progress *progress;

/* --- cases ------------------------------------------------------------------------------------ */

/* Changes bytes: some set, a slice removed, repeated or moved. Nothing is known afterwards. */
static void scramble(struct attn_case *c)
{
    struct attn_buffer *bytes = &c->files[attn_case_below(c, (size_t)c->n_file)].bytes;
    const size_t n_change = 1 + attn_case_below(c, 3);

    for (size_t i = 0; i < n_change && bytes->size > 0; i++) {
        const size_t at = attn_case_below(c, bytes->size);
        const size_t n = 1 + attn_case_below(c, bytes->size - at);

        switch (attn_case_below(c, 4)) {
        case 0:
            bytes->data[at] = (char)attn_case_bits(c);
            break;
        case 1:
            bytes->data[at] ^= (char)(1 << attn_case_below(c, 8));
            break;
        case 2:
            memmove(bytes->data + at, bytes->data + at + n, bytes->size - at - n);
            bytes->size -= n;
            break;
        default:
            if (attn_buffer_reserve(bytes, n) != NULL) {
                memcpy(bytes->data + bytes->size, bytes->data + at, n);
                bytes->size += n;
            }
            break;
        }
    }
    c->meant = ATTN_MEANT_UNKNOWN;
    snprintf(c->defect, sizeof c->defect, "bytes changed");
}

static void make(struct attn_case *c, const struct attn_grammar *grammar, size_t number)
{
    uint64_t seed = number;

    memset(c, 0, sizeof *c);
    for (const char *name = grammar->name; *name != '\0'; name++)
        seed = seed * 1099511628211U + (unsigned char)*name;
    c->chance = seed;
    (void)attn_case_bits(c);
    grammar->make(c);
    if (attn_case_chance(c, SCRAMBLED_PERCENT))
        scramble(c);
}

static void release(struct attn_case *c)
{
    for (int i = 0; i < c->n_file; i++)
        attn_buffer_release(&c->files[i].bytes);
    for (int i = 0; i < c->n_argument; i++)
        free(c->arguments[i]);
}

static size_t size_of(const struct attn_case *c)
{
    size_t size = 0;

    for (int i = 0; i < c->n_file; i++)
        size += c->files[i].bytes.size;
    return size;
}

/* --- measures --------------------------------------------------------------------------------- */

static double processor_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Memory that is resident (VmRSS), or was at most (VmHWM), in bytes. */
static size_t resident(const char *line)
{
    char text[4096], *found;
    const int descriptor = open("/proc/self/status", O_RDONLY);
    const ssize_t n = descriptor < 0 ? -1 : read(descriptor, text, sizeof text - 1);

    close(descriptor);
    text[n > 0 ? n : 0] = '\0';
    found = strstr(text, line);
    return found == NULL ? 0 : strtoull(found + strlen(line) + 1, NULL, 10) * 1024;
}

/* Lets VmHWM begin at what is resident now; false where the system does not do that. */
static bool forget_peak(void)
{
    const int descriptor = open("/proc/self/clear_refs", O_WRONLY);
    const bool is_done = descriptor >= 0 && write(descriptor, "5", 1) == 1;

    close(descriptor);
    return is_done;
}

/* Bytes that SIZE bytes of input may add to what is resident. */
static size_t allowed(size_t size)
{
    return ((size_t)3 << 19) + 24 * size;
}

/* --- one case --------------------------------------------------------------------------------- */

static void fail(const struct attn_grammar *grammar, size_t number, const char *what)
{
    progress->n_failed++;
    printf("FAILED %s %zu %s\n", grammar->name, number, what);
    fflush(stdout);
}

/* Says what is wrong with STATUS; "" when nothing is. */
static const char *judge(const struct attn_case *c, const struct attn_grammar *grammar,
                         enum attn_status status, const struct attn_error *err)
{
    static char what[1200];

    attn_fuzz_check_error(status, err, grammar->refused);
    if (c->meant == ATTN_MEANT_VALID && status != ATTN_OK)
        snprintf(what, sizeof what, "is valid and refused: %s", err->message);
    else if (c->meant == ATTN_MEANT_REFUSED && status == ATTN_OK)
        snprintf(what, sizeof what, "is taken with %s", c->defect);
    else
        what[0] = '\0';
    return what;
}

/* Keeps the figures of the slowest and of the largest. */
static void note(size_t number, double seconds, size_t memory)
{
    if (seconds > progress->slowest) {
        progress->slowest = seconds;
        progress->slowest_at = number;
    }
    if (memory > progress->most) {
        progress->most = memory;
        progress->most_at = number;
    }
}

/* The first case runs once before: what stays in memory for later ones, like a tokenizer, is not
 * counted. */
static void warm_up(struct attn_case *c, const struct attn_grammar *grammar)
{
    static bool is_warm;
    struct attn_error err = {0};

    if (!is_warm)
        (void)grammar->take(c, &err);
    is_warm = true;
}

struct cost {
    double seconds;
    size_t memory;
};

/* Takes C and sets COST to the processor time and the memory that this took. */
static enum attn_status take(struct attn_case *c, const struct attn_grammar *grammar,
                             struct cost *cost, struct attn_error *err)
{
    const bool is_measured = IS_MEASURED && forget_peak();
    const size_t before = is_measured ? resident("VmRSS:") : 0;
    const double start = processor_seconds();
    const enum attn_status status = grammar->take(c, err);

    cost->seconds = processor_seconds() - start;
    cost->memory = 0;
    if (is_measured && resident("VmHWM:") > before)
        cost->memory = resident("VmHWM:") - before;
    return status;
}

/* Memory counts if it is taken twice: pages of the program that nobody has read count as memory. */
static void try_case(const struct attn_grammar *grammar, size_t number)
{
    static struct attn_case c;
    struct attn_error err = {0};
    enum attn_status status;
    const char *what;
    struct cost cost;

    make(&c, grammar, number);
    warm_up(&c, grammar);
    status = take(&c, grammar, &cost, &err);
    if (cost.memory > allowed(size_of(&c)))
        status = take(&c, grammar, &cost, &err);
    what = judge(&c, grammar, status, &err);
    if (what[0] != '\0')
        fail(grammar, number, what);
    if (cost.seconds > SECONDS * SLOWNESS)
        fail(grammar, number, "takes too long");
    if (cost.memory > allowed(size_of(&c)))
        fail(grammar, number, "takes too much memory");
    progress->n[c.meant]++;
    progress->n_odd += c.meant == ATTN_MEANT_UNKNOWN && status == ATTN_OK;
    note(number, cost.seconds, cost.memory);
    release(&c);
}

static void save(const struct attn_case *c, const char *folder)
{
    char path[4096];

    for (int i = 0; i < c->n_file; i++) {
        FILE *file;

        snprintf(path, sizeof path, "%s/%s", folder, c->files[i].name);
        file = fopen(path, "wb");
        if (file == NULL) {
            fprintf(stderr, "adversary: cannot write '%s': %s\n", path, strerror(errno));
            exit(2);
        }
        (void)!fwrite(c->files[i].bytes.data, 1, c->files[i].bytes.size, file);
        fclose(file);
    }
}

static void tool_case(const struct attn_grammar *grammar, size_t number)
{
    static struct attn_case c;
    char folder[] = "/tmp/attn-adversary-XXXXXX";
    struct attn_tool_run ran;

    make(&c, grammar, number);
    if (c.n_argument > 0 && mkdtemp(folder) != NULL) {
        save(&c, folder);
        ran =
            attn_tool_run(&c, folder, (SECONDS + 1) * SLOWNESS, IS_MEASURED * allowed(size_of(&c)));
        if (ran.wrong[0] != '\0')
            fail(grammar, number, ran.wrong);
        progress->n_run++;
        note(number, ran.seconds, ran.resident);
    }
    progress->n[c.meant]++;
    release(&c);
}

/* --- many cases ------------------------------------------------------------------------------- */

typedef void case_fn(const struct attn_grammar *grammar, size_t number);

/* What is freed goes back, so that the next case is measured by itself. */
static void keep_memory_small(void)
{
    const struct rlimit space = {ATTN_CASE_SPACE, ATTN_CASE_SPACE};

    setrlimit(RLIMIT_AS, &space);
    mallopt(M_MMAP_THRESHOLD, 1 << 16);
    mallopt(M_TRIM_THRESHOLD, 1 << 16);
}

/* A case that hangs is ended by SIGPROF. */
static void watch(void)
{
    const struct itimerval limit = {{0, 0}, {SECONDS * SLOWNESS * 2, 0}};

    setitimer(ITIMER_PROF, &limit, NULL);
}

/* Runs cases from FIRST below END; returns the next that has not run. */
static size_t run_batch(const struct attn_grammar *grammar, size_t first, size_t end, size_t step,
                        case_fn *run)
{
    int status;
    pid_t pid;

    progress->at = first;
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        keep_memory_small();
        for (size_t i = first; i < end && progress->n_failed < MAX_FAILURE; i += step) {
            progress->at = i;
            watch();
            run(grammar, i);
        }
        progress->at = end;
        fflush(stdout);
        exit(0); /* LeakSanitizer looks now */
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid) {
        perror("adversary");
        exit(2);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return end;
    fail(grammar, progress->at,
         WIFSIGNALED(status) ? strsignal(WTERMSIG(status))
                             : "the batch that ends here ended early, or leaks");
    return progress->at + step;
}

static double percent(size_t part, size_t all)
{
    return all > 0 ? 100.0 * (double)part / (double)all : 0;
}

static int run_cases(const struct attn_grammar *grammar, size_t first, size_t n, size_t step,
                     case_fn *run)
{
    const size_t end = first + n;
    struct timespec from, to;
    size_t all;

    clock_gettime(CLOCK_MONOTONIC, &from);
    for (size_t at = first; at < end && progress->n_failed < MAX_FAILURE;)
        at = run_batch(grammar, at, end, step, run);
    clock_gettime(CLOCK_MONOTONIC, &to);
    all = progress->n[0] + progress->n[1] + progress->n[2];
    printf("%-12s%7zu cases%s: %4.1f %% valid, %4.1f %% with a defect, %4.1f %% with other bytes",
           grammar->name, run == tool_case ? progress->n_run : all,
           run == tool_case ? " with attn-cli" : "", percent(progress->n[0], all),
           percent(progress->n[1], all), percent(progress->n[2], all));
    if (run == try_case)
        printf(" (%zu of them taken)", progress->n_odd);
    printf("; %.1f s, at most %.0f ms of a core (case %zu), %.1f MiB%s (case %zu); %zu failed\n",
           (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec),
           progress->slowest * 1e3, progress->slowest_at, (double)progress->most / (1 << 20),
           run == try_case ? " more" : "", progress->most_at, progress->n_failed);
    if (run == try_case && n >= 100 && progress->n[0] * 10 < all * 3)
        fail(grammar, first, "fewer than 30 % are valid");
    return progress->n_failed > 0;
}

static const char *const meant[] = {"valid", "refused", "unknown"};

static int save_case(const struct attn_grammar *grammar, size_t number, const char *folder)
{
    static struct attn_case c;

    make(&c, grammar, number);
    save(&c, folder);
    printf("%s%s%s\n", meant[c.meant], c.defect[0] != '\0' ? ": " : "", c.defect);
    if (c.n_argument > 0) {
        printf("cd %s; attn-cli", folder);
        for (int i = 0; i < c.n_argument; i++)
            printf(" '%s'", c.arguments[i]);
        printf("\n");
    }
    release(&c);
    return 0;
}

static int judge_cases(const struct attn_grammar *grammar, size_t first, size_t n,
                       const char *folder)
{
    for (size_t i = first; i < first + n; i++) {
        static struct attn_case c;
        struct attn_error err = {0};
        char path[4096];

        make(&c, grammar, i);
        snprintf(path, sizeof path, "%s/%zu", folder, i);
        if (mkdir(path, 0777) != 0) {
            fprintf(stderr, "adversary: cannot make '%s': %s\n", path, strerror(errno));
            return 2;
        }
        save(&c, path);
        printf("%zu %s %s %s\n", i, meant[c.meant],
               grammar->take(&c, &err) == ATTN_OK ? "taken" : "refused", c.defect);
        release(&c);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const struct attn_grammar *grammar = NULL;

    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    progress =
        mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; argc == 2 && strcmp(argv[1], "list") == 0 && i < N_GRAMMAR; i++)
        puts(grammars[i]->name);
    for (int i = 0; argc > 2 && i < N_GRAMMAR; i++)
        if (strcmp(grammars[i]->name, argv[2]) == 0)
            grammar = grammars[i];
    if (argc == 2 && strcmp(argv[1], "list") == 0)
        return 0;
    if (progress != MAP_FAILED && grammar != NULL) {
        const size_t first = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;

        if (argc == 5 && strcmp(argv[1], "try") == 0)
            return run_cases(grammar, first, strtoull(argv[4], NULL, 10), 1, try_case);
        if (argc == 6 && strcmp(argv[1], "tool") == 0)
            return run_cases(grammar, first, strtoull(argv[4], NULL, 10),
                             strtoull(argv[5], NULL, 10), tool_case);
        if (argc == 5 && strcmp(argv[1], "save") == 0)
            return save_case(grammar, first, argv[4]);
        if (argc == 6 && strcmp(argv[1], "judge") == 0)
            return judge_cases(grammar, first, strtoull(argv[4], NULL, 10), argv[5]);
    }
    fprintf(stderr, "usage: adversary list | try FORMAT FIRST N | tool FORMAT FIRST N STEP |"
                    " save FORMAT CASE FOLDER | judge FORMAT FIRST N FOLDER\n");
    return 2;
}
