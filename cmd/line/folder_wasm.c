/* folder_wasm.c - sets the current folder, which WASI does not have, before main. A host that
 * shares the whole file system passes it in ATTN_CLI_FOLDER; relative paths begin there. */
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void enter_folder(void)
{
    const char *folder = getenv("ATTN_CLI_FOLDER");

    if (folder && chdir(folder) != 0)
        abort();
}
