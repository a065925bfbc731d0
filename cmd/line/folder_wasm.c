/* folder_wasm.c - WASI has no current folder. A host that shares the whole file system names it in
 * ATTN_CLI_FOLDER, before main: relative paths begin there. */
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void enter_folder(void)
{
    const char *folder = getenv("ATTN_CLI_FOLDER");

    if (folder && chdir(folder) != 0)
        abort();
}
