#include "cmd/line/process.h"

#include "cmd/line/command.h"
#include "tool.h"

#include <fcntl.h>
#include <io.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <windows.h>

#include <shellapi.h> /* after windows.h */

/* The C library would end the process if it is given a descriptor that is not open. */
static void ignore(const wchar_t *expression, const wchar_t *function, const wchar_t *file,
                   unsigned line, uintptr_t unused)
{
    (void)expression, (void)function, (void)file, (void)line, (void)unused;
}

/* Sets the variable NAME unless it has a value. */
static void set_default(const char *name, const char *value)
{
    const char *found = getenv(name);

    if (!found || !*found)
        _putenv_s(name, value);
}

/* Names the home folder as other systems do, with '/'. */
static void set_home(void)
{
    const char *profile = getenv("USERPROFILE");
    char *home = profile ? strdup(profile) : NULL;

    for (char *at = home; at && *at; at++)
        if (*at == '\\')
            *at = '/';
    if (home)
        set_default("HOME", home);
    free(home);
}

/* The C library converts variables to the code page of the system, so those with other letters than
 * ASCII are set again, as UTF-8. */
static void set_environment(void)
{
    wchar_t *all = GetEnvironmentStringsW();

    for (const wchar_t *at = all; at && *at; at += wcslen(at) + 1) {
        char *pair = attn_windows_narrow(at), *equals = pair ? strchr(pair + 1, '=') : NULL;

        if (equals && strlen(pair) != wcslen(at)) {
            *equals = '\0';
            _putenv_s(pair, equals + 1);
        }
        free(pair);
    }
    if (all)
        FreeEnvironmentStringsW(all);
    set_home();
    set_default("LC_CTYPE", "C.UTF-8");
}

/* --- Console --------------------------------------------------------------------------------- */

static UINT code_page; /* of the console before */

static void restore_console(void)
{
    SetConsoleOutputCP(code_page);
}

/* Makes the console of a STREAM obey the codes of terminals, and says so as terminals do. */
static void prepare_console(DWORD stream)
{
    const HANDLE console = GetStdHandle(stream);
    DWORD mode;

    if (!GetConsoleMode(console, &mode) ||
        !SetConsoleMode(console, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING))
        return;
    set_default("TERM", "xterm-256color");
    set_default("COLORTERM", "truecolor");
}

static void prepare_consoles(void)
{
    code_page = GetConsoleOutputCP();
    if (code_page != 0 && code_page != CP_UTF8) {
        SetConsoleOutputCP(CP_UTF8);
        atexit(restore_console);
    }
    prepare_console(STD_OUTPUT_HANDLE);
    prepare_console(STD_ERROR_HANDLE);
}

/* --- Beginning ------------------------------------------------------------------------------- */

void process_begin(int *argc, char ***argv)
{
    wchar_t **wide = CommandLineToArgvW(GetCommandLineW(), argc);
    char **texts = wide ? calloc((size_t)*argc + 1, sizeof *texts) : NULL;

    _set_invalid_parameter_handler(ignore);
    for (int descriptor = 0; descriptor <= 2; descriptor++)
        _setmode(descriptor, _O_BINARY);
    set_environment();
    prepare_consoles();
    for (int i = 0; texts && i < *argc; i++)
        if (!(texts[i] = attn_windows_narrow(wide[i])))
            exit(EXIT_MEMORY);
    LocalFree(wide);
    if (!texts)
        exit(EXIT_MEMORY);
    *argv = texts;
}

enum attn_status process_check_stack(struct attn_error *err)
{
    (void)err;
    return ATTN_OK;
}
