#include "base/os/libc_windows.h"

#include "base/os/os.h"

#include <io.h>
#include <wchar.h>

void *memmem(const void *bytes, size_t size, const void *part, size_t n)
{
    const char *begin = bytes, *end = begin + size;

    if (n == 0)
        return (void *)(uintptr_t)begin;
    while ((size_t)(end - begin) >= n &&
           (begin = memchr(begin, *(const unsigned char *)part, (size_t)(end - begin) - n + 1))) {
        if (memcmp(begin, part, n) == 0)
            return (void *)(uintptr_t)begin;
        begin++;
    }
    return NULL;
}

char *strcasestr(const char *text, const char *part)
{
    for (; *text; text++)
        if (_strnicmp(text, part, strlen(part)) == 0)
            return (char *)(uintptr_t)text;
    return *part ? NULL : (char *)(uintptr_t)text;
}

char *strndup(const char *text, size_t size)
{
    const size_t n = strnlen(text, size);
    char *copy = malloc(n + 1);

    if (copy) {
        memcpy(copy, text, n);
        copy[n] = '\0';
    }
    return copy;
}

char *strsep(char **rest, const char *separators)
{
    char *begin = *rest, *end;

    if (!begin)
        return NULL;
    end = strpbrk(begin, separators);
    if (end)
        *end++ = '\0';
    *rest = end;
    return begin;
}

/* Only files that exist are opened by it, to read them. */
FILE *attn_windows_fopen(const char *path, const char *mode)
{
    const int descriptor = attn_os_open(path, ATTN_OS_READ, 0);

    (void)mode;
    return descriptor < 0 ? NULL : _fdopen(descriptor, "rb");
}

struct tm *attn_windows_gmtime_r(const time_t *time, struct tm *parts)
{
    return gmtime_s(parts, time) == 0 ? parts : NULL;
}
