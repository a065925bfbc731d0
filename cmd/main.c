/* main.c - dispatches the command. */
#include "cmd/args/question.h"
#include "cmd/line/command.h"
#include "cmd/line/defaults.h"
#include "cmd/line/field_names.h"
#include "cmd/line/help.h"
#include "cmd/line/interrupt.h"
#include "cmd/line/options.h"
#include "cmd/line/print.h"
#include "cmd/line/process.h"
#include "cmd/line/progress.h"
#include "cmd/line/report.h"

#include "tool.h"

#include <stdlib.h>
#include <string.h>

#ifdef __clang__
#define COMPILER "clang", __clang_major__, __clang_minor__, __clang_patchlevel__
#else
#define COMPILER "gcc", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__
#endif

/* Parses the options and runs the command. */
static enum attn_status perform(struct call *call, struct attn_error *err)
{
    enum attn_status status;

    ATTN_TRY(options_open(call, err));
    ATTN_TRY(options_parse(call, err));
    ATTN_TRY(print_open(&call->out, err));
    if (call->help == CALL_HELP_NONE) {
        status = call->command->ask ? question_answer(call, err) : call->command->work(call, err);
        if (status != ATTN_OK)
            defaults_name(call, err);
        return status;
    }
    help_print(call->out, call->made ? command_find("batch") : call->command, call->help);
    return ATTN_OK;
}

/* Makes `batch [OPTIONS] [FILE]` the call `run [OPTIONS] --items FILE --jsonl -`: a name for it, as
 * many programs have. FILE may be after --items. Parses the options to tell FILE from their values.
 * *ARGV receives the new arguments, which the caller frees. */
static enum attn_status read_batch(struct call *call, char ***argv, struct attn_error *err)
{
    static char items[] = "--items", lines[] = "--jsonl", standard[] = "-";
    const struct question_args *args;
    bool has_items;
    int n = 0;

    call->takes_file = true;
    ATTN_TRY(options_open(call, err));
    ATTN_TRY(options_parse(call, err));
    args = call->args;
    has_items = option_find_given(call, "items");
    if (args->prompt.plain.n + has_items > 1)
        return refuse(err, "`cat FILE... | attn-cli batch` reads them all",
                      "'%s' is a second file, expected one",
                      args->prompt.plain.items[has_items ? 0 : 1]);
    *argv = calloc((size_t)call->argc + 4, sizeof **argv);
    if (!*argv)
        return attn_error_no_memory(err);
    if (!has_items) {
        (*argv)[n++] = items;
        (*argv)[n++] =
            args->prompt.plain.n > 0 ? (char *)(uintptr_t)args->prompt.plain.items[0] : standard;
    }
    if (!outputs_are_wanted(&args->tables.output)) {
        (*argv)[n++] = lines;
        (*argv)[n++] = standard;
    }
    for (int i = 0; i < call->argc; i++)
        if (args->prompt.plain.n == 0 || call->argv[i] != args->prompt.plain.items[0])
            (*argv)[n++] = call->argv[i];
    options_close(call);
    call->argv = *argv;
    call->argc = n;
    call->n_read = 0;
    return ATTN_OK;
}

static enum attn_status dispatch(struct call *call, int argc, char **argv, struct attn_error *err)
{
    const char *name = argc < 2 ? NULL : argv[1];

    if (!name)
        return refuse(err, "'attn-cli --help' lists the commands", "no command given");
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        ATTN_TRY(print_open(&call->out, err));
        help_print(call->out, NULL, strcmp(name, "-h") == 0 ? CALL_HELP_BRIEF : CALL_HELP_OWN);
        return ATTN_OK;
    }
    if (strcmp(name, "--version") == 0) {
        ATTN_TRY(print_open(&call->out, err));
        /* ATTN_BUILD, the version with the number of the build, and ATTN_COMMIT are of the Makefile
         */
        print(call->out,
              "attn-cli " ATTN_BUILD " (%s, %s%s, Unicode " ATTN_UNICODE_VERSIONS
              ", %s %d.%d.%d%s)\n",
              attn_isa_name(attn_isa_detect()),
              attn_gemm_can_jit() ? "libxsmm" : "the portable loop",
              attn_gemm_has_tiles(running_gemm(), running_isa()) ? ", amx" : "", COMPILER,
              ATTN_COMMIT);
        return ATTN_OK;
    }
    call->command = command_find(strcmp(name, "batch") == 0 ? "run" : name);
    if (!call->command && name[0] == '-')
        ATTN_TRY(options_refuse_first(name, err));
    if (!call->command)
        return command_refuse_unknown(name[0] == '-' ? "option" : "command", name, err);
    ATTN_TRY(process_check_stack(err));
    call->argv = argv + 2;
    call->argc = argc - 2;
    if (strcmp(name, "batch") == 0)
        ATTN_TRY(read_batch(call, &call->made, err));
    return perform(call, err);
}

/* Whether the command line of CALL asks for JSON on standard output, which then gets errors, too.
 */
static bool asks_for_json(const struct call *call)
{
    bool takes_path = false;

    for (struct option_walk walk = {.command = call->command}; call->command && option_next(&walk);)
        takes_path = takes_path || (walk.name && strcmp(walk.name, "json") == 0 &&
                                    !(walk.param->traits & ATTN_PARAM_MAY_BE_ALONE));
    for (int i = 0; i < call->argc && strcmp(call->argv[i], "--") != 0; i++)
        if (strcmp(call->argv[i], "--json=-") == 0 ||
            (strcmp(call->argv[i], "--json") == 0 &&
             (!takes_path || (i + 1 < call->argc && strcmp(call->argv[i + 1], "-") == 0))))
            return true;
    return false;
}

/* Ends a command: flushes the output, and reports a failure once. Returns the exit code. */
static int finish(struct call *call, enum attn_status status, struct attn_error *err)
{
    int code = call->exit_code;

    progress_clear();
    if (status == ATTN_OK && call->out)
        status = print_flush(call->out, err);
    if ((status == ATTN_OK || err->stage == ATTN_STAGE_CHECK) && call->has_file)
        status = at_stage(ATTN_STAGE_OUTPUT, attn_sink_commit(call->out, err), err);
    if (status != ATTN_OK) {
        code = report(call->command, err);
        if (asks_for_json(call) && err->stage != ATTN_STAGE_CHECK) /* whose document is complete */
            report_json(call->command, err, code);
        if (call->last_note[0])
            note("%s", call->last_note);
    }
    attn_sink_free(call->out);
    options_close(call);
    free(call->made);
    return code;
}

int main(int argc, char **argv)
{
    struct call call = {.exit_code = EXIT_DONE};
    struct attn_error err = {0};
    int code;

    process_begin(&argc, &argv);
    interrupt_prepare();
    field_names_set_arguments(argv, argc);
    code = finish(&call, dispatch(&call, argc, argv, &err), &err);
    interrupt_end();
    return code;
}
