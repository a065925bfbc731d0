/* attn-cli_windows.c - the program of a wheel for Windows; see attn-cli.c. It opens attn.dll of the
 * module attn:
 *
 *     PREFIX\Scripts\attn-cli.exe
 *     PREFIX\Lib\site-packages\attn\attn.dll    pip install, uv, pipx, venv
 *     PREFIX\site-packages\attn\attn.dll        pip install --user
 *     PREFIX\attn\attn.dll                      pip install --target
 */
#include "base/version.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <windows.h>

enum { PATH_ROOM = 32768 };

typedef int main_function(int argc, char **argv);
typedef const char *version_function(void);

/* Returns the command in the library at PATH, or NULL if that is absent or of another version. */
static main_function *command_in(const wchar_t *path)
{
    HMODULE library = LoadLibraryExW(path, NULL, LOAD_WITH_ALTERED_SEARCH_PATH);
    version_function *version = NULL;

    if (library)
        version = (version_function *)(void *)GetProcAddress(library, "attn_version");
    if (version && strcmp(version(), ATTN_VERSION) == 0)
        return (main_function *)(void *)GetProcAddress(library, "attn_cli_main");
    if (library)
        FreeLibrary(library);
    return NULL;
}

int main(int argc, char **argv)
{
    static const wchar_t *const places[] = {L"Lib\\site-packages", L"site-packages", L"."};
    static wchar_t folder[PATH_ROOM], path[PATH_ROOM + 64];
    const DWORD size = GetModuleFileNameW(NULL, folder, PATH_ROOM);
    main_function *command = NULL;

    /* its own name, and the folder of programs */
    for (int i = 0; i < 2 && size > 0 && size < PATH_ROOM && wcsrchr(folder, L'\\'); i++)
        *wcsrchr(folder, L'\\') = L'\0';
    SetErrorMode(SEM_FAILCRITICALERRORS);
    for (size_t i = 0; i < sizeof places / sizeof *places && !command; i++) {
        swprintf(path, PATH_ROOM + 64, L"%ls\\%ls\\attn\\attn.dll", folder, places[i]);
        command = command_in(path);
    }
    if (!command) {
        fprintf(stderr,
                "attn-cli: its library attn.dll is expected in '%ls\\Lib\\site-packages\\attn', "
                "with the "
                "version " ATTN_VERSION "; install attn-cli again\n",
                folder);
        return EXIT_FAILURE;
    }
    swprintf(path, PATH_ROOM + 64, L"%ls\\share\\attn-cli\\attn.wasm", folder);
    if (!_wgetenv(L"ATTN_LIVE_MODULE") && GetFileAttributesW(path) != INVALID_FILE_ATTRIBUTES)
        _wputenv_s(L"ATTN_LIVE_MODULE", path);
    return command(argc, argv);
}
