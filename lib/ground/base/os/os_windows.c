/*
 * os_windows.c - see os.h.
 *
 * Paths are UTF-8, with / or \, and become those of UTF-16 that the system takes. Descriptors are
 * those of the C library, around handles that are opened here: others may rename and remove the
 * file, as on POSIX, and bytes are never translated. /dev/null, /dev/stdin, /dev/stdout,
 * /dev/stderr and /dev/fd/N are known.
 */
#include "base/os/os.h"

#include "base/os/libc_windows.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wchar.h>
#include <windows.h>

#include <ntsecapi.h> /* after windows.h */

enum {
    LONGEST = 32768,        /* characters of a path */
    MOST_AT_ONCE = 1 << 30, /* bytes */
    N_TRY = 50,             /* to replace a file that another program holds */
    PAUSE = 20,             /* milliseconds between them */
};

/* --- Texts and errors ------------------------------------------------------------------------ */

wchar_t *attn_windows_wide(const char *text)
{
    const int n = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, NULL, 0);
    wchar_t *wide = n > 0 ? malloc((size_t)n * sizeof *wide) : NULL;

    if (wide)
        MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, wide, n);
    else
        errno = n > 0 ? ENOMEM : EILSEQ;
    return wide;
}

char *attn_windows_narrow(const wchar_t *wide)
{
    const int n = WideCharToMultiByte(CP_UTF8, 0, wide, -1, NULL, 0, NULL, NULL);
    char *text = n > 0 ? malloc((size_t)n) : NULL;

    if (text)
        WideCharToMultiByte(CP_UTF8, 0, wide, -1, text, n, NULL, NULL);
    return text;
}

/* Errors as Linux describes them, and two that Windows alone has. */
const char *attn_os_error_text(int error)
{
    static const struct {
        int error;
        const char *text;
    } texts[] = {
        {ENOENT, "No such file or directory"},
        {EACCES, "Permission denied"},
        {EEXIST, "File exists"},
        {ENOTDIR, "Not a directory"},
        {EISDIR, "Is a directory"},
        {ENOSPC, "No space left on device"},
        {EPIPE, "Broken pipe"},
        {EBADF, "Bad file descriptor"},
        {EINVAL, "Invalid argument"},
        {ENOMEM, "Cannot allocate memory"},
        {EMFILE, "Too many open files"},
        {EIO, "Input/output error"},
        {ENOTEMPTY, "Directory not empty"},
        {EFBIG, "File too large"},
        {ENAMETOOLONG, "File name too long"},
        {ELOOP, "Too many levels of symbolic links"},
        {EBUSY, "another program has it open"},
        {EILSEQ, "Windows has no file of this name"},
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].error == error)
            return texts[i].text;
    return strerror(error);
}

/* Sets errno by the last error of Windows. Returns -1. */
static int fail(void)
{
    static const struct {
        DWORD code;
        int error;
    } errors[] = {
        {ERROR_FILE_NOT_FOUND, ENOENT},
        {ERROR_PATH_NOT_FOUND, ENOENT},
        {ERROR_INVALID_DRIVE, ENOENT},
        {ERROR_BAD_PATHNAME, ENOENT},
        {ERROR_BAD_NETPATH, ENOENT},
        {ERROR_INVALID_NAME, EILSEQ},
        {ERROR_FILE_EXISTS, EEXIST},
        {ERROR_ALREADY_EXISTS, EEXIST},
        {ERROR_ACCESS_DENIED, EACCES},
        {ERROR_WRITE_PROTECT, EACCES},
        {ERROR_SHARING_VIOLATION, EBUSY},
        {ERROR_USER_MAPPED_FILE, EBUSY},
        {ERROR_LOCK_VIOLATION, EWOULDBLOCK},
        {ERROR_IO_PENDING, EWOULDBLOCK},
        {ERROR_DIRECTORY, ENOTDIR},
        {ERROR_DIR_NOT_EMPTY, ENOTEMPTY},
        {ERROR_DISK_FULL, ENOSPC},
        {ERROR_HANDLE_DISK_FULL, ENOSPC},
        {ERROR_BROKEN_PIPE, EPIPE},
        {ERROR_NO_DATA, EPIPE},
        {ERROR_PIPE_NOT_CONNECTED, EPIPE},
        {ERROR_NOT_ENOUGH_MEMORY, ENOMEM},
        {ERROR_OUTOFMEMORY, ENOMEM},
        {ERROR_TOO_MANY_OPEN_FILES, EMFILE},
        {ERROR_INVALID_HANDLE, EBADF},
        {ERROR_NOT_SUPPORTED, EINVAL},
        {ERROR_INVALID_FUNCTION, EINVAL},
        {ERROR_INVALID_PARAMETER, EINVAL},
        {ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG},
    };
    const DWORD code = GetLastError();

    errno = EIO;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == code)
            errno = errors[i].error;
    return -1;
}

/* --- Paths ----------------------------------------------------------------------------------- */

bool attn_os_is_slash(char c)
{
    return c == '/' || c == '\\';
}

static bool has_drive(const char *path)
{
    return ((path[0] >= 'a' && path[0] <= 'z') || (path[0] >= 'A' && path[0] <= 'Z')) &&
           path[1] == ':';
}

/* The colon of a drive ends its folder, too: in "C:a" the file is a. */
const char *attn_os_last_slash(const char *path)
{
    const char *last = has_drive(path) ? path + 1 : NULL;

    for (; *path; path++)
        if (attn_os_is_slash(*path))
            last = path;
    return last;
}

bool attn_os_is_absolute(const char *path)
{
    return attn_os_is_slash(path[0]) || has_drive(path);
}

const char *attn_os_between_paths(void)
{
    return ";";
}

/* Returns true if PART [size], a name in a path, is one that Windows cannot give to a file: with
 * its own characters, with a space or dot at its end, or of a device, with any ending. */
static bool is_reserved(const char *part, size_t size)
{
    static const char *const devices[] = {"con", "prn", "aux", "nul", "com", "lpt"};
    const size_t n = strcspn(part, ".") < size ? strcspn(part, ".") : size;

    for (size_t i = 0; i < size; i++)
        if ((unsigned char)part[i] < ' ' || strchr("<>:\"|?*", part[i]))
            return true;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        if (n == (i < 4 ? 3 : 4) && _strnicmp(part, devices[i], 3) == 0 &&
            (i < 4 || (part[3] >= '1' && part[3] <= '9')))
            return true;
    return size > 0 && strchr(". ", part[size - 1]) && strspn(part, ".") < size;
}

static bool has_reserved(const char *path)
{
    if (strncmp(path, "\\\\?\\", 4) == 0 || strncmp(path, "\\\\.\\", 4) == 0)
        return false;
    for (path += has_drive(path) ? 2 : 0; *path;) {
        const size_t n = strcspn(path, "/\\");

        if (is_reserved(path, n))
            return true;
        path += n + (path[n] != '\0');
    }
    return false;
}

/* Returns PATH in UTF-16, or NULL with errno. A path that is longer than MAX_PATH has the mark that
 * lifts this limit. */
static wchar_t *wide_path(const char *path)
{
    const bool is_null = strcmp(path, "/dev/null") == 0;
    wchar_t *wide, *full;
    DWORD n;

    errno = *path == '\0' ? ENOENT : EILSEQ;
    if (*path == '\0' || (!is_null && has_reserved(path)))
        return NULL;
    wide = attn_windows_wide(is_null ? "NUL" : path);
    n = wide ? GetFullPathNameW(wide, 0, NULL, NULL) : 0;
    if (n < MAX_PATH - 12 || wcsncmp(wide, L"\\\\?\\", 4) == 0)
        return wide;
    full = malloc((n + 8) * sizeof *full);
    if (full) {
        const bool is_remote = wcsncmp(wide, L"\\\\", 2) == 0;
        const size_t mark = is_remote ? 6 : 4; /* two of \\server\share are part of the mark */

        GetFullPathNameW(wide, n, full + mark, NULL);
        wmemcpy(full, is_remote ? L"\\\\?\\UNC" : L"\\\\?\\", is_remote ? 7 : 4);
    }
    free(wide);
    return full;
}

/* Fails for PATH: if a part of it that should be a folder is a file, with ENOTDIR. */
static int fail_path(const char *path)
{
    char part[4096];
    const char *slash;

    if (GetLastError() != ERROR_PATH_NOT_FOUND || strlen(path) >= sizeof part)
        return fail();
    memcpy(part, path, strlen(path) + 1);
    while ((slash = attn_os_last_slash(part)) && slash > part) {
        wchar_t *wide;
        DWORD found;

        part[slash - part] = '\0';
        wide = wide_path(part);
        found = wide ? GetFileAttributesW(wide) : INVALID_FILE_ATTRIBUTES;
        free(wide);
        errno = found & FILE_ATTRIBUTE_DIRECTORY ? ENOENT : ENOTDIR;
        if (found != INVALID_FILE_ATTRIBUTES)
            return -1;
    }
    errno = ENOENT;
    return -1;
}

/* --- Files ----------------------------------------------------------------------------------- */

static const DWORD shared = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

static HANDLE handle_of(int descriptor)
{
    const intptr_t handle = descriptor < 0 ? -1 : _get_osfhandle(descriptor);

    return handle < 0 ? INVALID_HANDLE_VALUE : (HANDLE)handle; /* -2: a stream is missing */
}

static enum attn_os_kind kind_of(HANDLE handle, DWORD attributes)
{
    FILE_ATTRIBUTE_TAG_INFO tag;

    if (attributes & FILE_ATTRIBUTE_REPARSE_POINT &&
        GetFileInformationByHandleEx(handle, FileAttributeTagInfo, &tag, sizeof tag) &&
        (tag.ReparseTag == IO_REPARSE_TAG_SYMLINK || tag.ReparseTag == IO_REPARSE_TAG_MOUNT_POINT))
        return ATTN_OS_LINK;
    return attributes & FILE_ATTRIBUTE_DIRECTORY ? ATTN_OS_FOLDER : ATTN_OS_FILE;
}

static int stat_handle(HANDLE handle, struct attn_os_info *info)
{
    BY_HANDLE_FILE_INFORMATION facts;
    LARGE_INTEGER size;
    DWORD type;

    *info = (struct attn_os_info){.access = 0666};
    SetLastError(NO_ERROR); /* a type may be unknown without a failure */
    type = GetFileType(handle);
    if (type == FILE_TYPE_UNKNOWN && GetLastError() != NO_ERROR)
        return fail();
    info->kind = type == FILE_TYPE_DISK   ? ATTN_OS_FILE
                 : type == FILE_TYPE_PIPE ? ATTN_OS_PIPE
                                          : ATTN_OS_DEVICE;
    if (type != FILE_TYPE_DISK)
        return 0;
    if (!GetFileInformationByHandle(handle, &facts)) {
        if (!GetFileSizeEx(handle, &size))
            return fail();
        info->size = size.QuadPart; /* inherited, on a volume without facts */
        return 0;
    }
    info->kind = kind_of(handle, facts.dwFileAttributes);
    if (facts.dwFileAttributes & FILE_ATTRIBUTE_READONLY)
        info->access = 0444;
    info->device = facts.dwVolumeSerialNumber;
    info->number = (uint64_t)facts.nFileIndexHigh << 32 | facts.nFileIndexLow;
    info->size = (int64_t)((uint64_t)facts.nFileSizeHigh << 32 | facts.nFileSizeLow);
    info->changed = (((int64_t)facts.ftLastWriteTime.dwHighDateTime << 32 |
                      facts.ftLastWriteTime.dwLowDateTime) -
                     INT64_C(116444736000000000)) * /* from 1601 to 1970 */
                    100;
    return 0;
}

/* Returns the descriptor that PATH names, or -1. */
static int own_descriptor(const char *path)
{
    static const char *const names[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr"};

    for (int i = 0; i < 3; i++)
        if (strcmp(path, names[i]) == 0)
            return i;
    return strncmp(path, "/dev/fd/", 8) == 0 && path[8] >= '0' && path[8] <= '9'
               ? (int)strtol(path + 8, NULL, 10)
               : -1;
}

/* Opens a handle of PATH that is not for its bytes. */
static HANDLE open_facts(const char *path, DWORD flags)
{
    wchar_t *wide = wide_path(path);
    HANDLE handle = INVALID_HANDLE_VALUE;

    if (wide)
        handle = CreateFileW(wide, FILE_READ_ATTRIBUTES, shared, NULL, OPEN_EXISTING,
                             FILE_FLAG_BACKUP_SEMANTICS | flags, NULL);
    if (wide && handle == INVALID_HANDLE_VALUE)
        fail_path(path);
    free(wide);
    return handle;
}

static int stat_path(const char *path, DWORD flags, struct attn_os_info *info)
{
    const int own = own_descriptor(path);
    HANDLE handle;
    int status;

    if (own >= 0)
        return attn_os_stat_open(own, info);
    handle = open_facts(path, flags);
    if (handle == INVALID_HANDLE_VALUE)
        return -1;
    status = stat_handle(handle, info);
    CloseHandle(handle);
    if (status == 0 && info->kind == ATTN_OS_FILE && attn_os_is_slash(path[strlen(path) - 1])) {
        errno = ENOTDIR;
        return -1;
    }
    return status;
}

int attn_os_stat(const char *path, struct attn_os_info *info)
{
    return stat_path(path, 0, info);
}

int attn_os_stat_link(const char *path, struct attn_os_info *info)
{
    return stat_path(path, FILE_FLAG_OPEN_REPARSE_POINT, info);
}

int attn_os_stat_open(int descriptor, struct attn_os_info *info)
{
    return stat_handle(handle_of(descriptor), info);
}

enum attn_os_kind attn_os_kind(const char *path)
{
    struct attn_os_info info;

    return attn_os_stat(path, &info) == 0 ? info.kind : ATTN_OS_ABSENT;
}

bool attn_os_exists(const char *path)
{
    return attn_os_kind(path) != ATTN_OS_ABSENT;
}

bool attn_os_may_read(const char *path)
{
    return attn_os_exists(path); /* opening it finds the rest */
}

bool attn_os_may_write(const char *path)
{
    struct attn_os_info info;

    if (attn_os_stat(path, &info) != 0)
        return false;
    errno = EACCES;
    return info.kind != ATTN_OS_FILE || info.access & 0222;
}

bool attn_os_may_have(const char *folder, const char *name)
{
    char path[LONGEST / 4];
    struct attn_os_info info;
    const int n = snprintf(path, sizeof path, "%s/%s", folder, name);

    return n < 0 || (size_t)n >= sizeof path || attn_os_stat_link(path, &info) == 0 ||
           (errno != ENOENT && errno != ENOTDIR && errno != EILSEQ);
}

/* --- Names ----------------------------------------------------------------------------------- */

int attn_os_list(const char *folder, bool (*on_name)(void *user, const char *name), void *user)
{
    const size_t size = strlen(folder) + sizeof "/x";
    char *pattern = malloc(size);
    WIN32_FIND_DATAW found;
    HANDLE search = INVALID_HANDLE_VALUE;
    wchar_t *wide;

    if (!pattern) {
        errno = ENOMEM;
        return -1;
    }
    snprintf(pattern, size, "%s/x", folder);
    wide = wide_path(pattern);
    if (wide) {
        wide[wcslen(wide) - 1] = L'*'; /* no path may have one */
        search = FindFirstFileW(wide, &found);
        if (search == INVALID_HANDLE_VALUE)
            fail_path(pattern);
    }
    free(wide);
    free(pattern);
    if (search == INVALID_HANDLE_VALUE)
        return -1;
    for (BOOL goes_on = TRUE; goes_on;) {
        char *name = attn_windows_narrow(found.cFileName);
        const bool is_wanted =
            !name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || on_name(user, name);

        free(name);
        goes_on = is_wanted && FindNextFileW(search, &found);
    }
    FindClose(search);
    return 0;
}

/* Returns what PATH leads to in the end, with /; NULL with errno. Free it with free. */
static char *find_target(const char *path)
{
    const HANDLE handle = open_facts(path, 0);
    wchar_t *place;
    char *text = NULL;
    DWORD n = 0;

    if (handle == INVALID_HANDLE_VALUE)
        return NULL;
    place = malloc(LONGEST * sizeof *place);
    if (place)
        n = GetFinalPathNameByHandleW(handle, place, LONGEST, 0);
    CloseHandle(handle);
    if (n > 0 && n < LONGEST)
        text = attn_windows_narrow(wcsncmp(place, L"\\\\?\\", 4) == 0 ? place + 4 : place);
    for (char *at = text; at && *at; at++)
        if (*at == '\\')
            *at = '/';
    free(place);
    if (!text)
        errno = ENOENT;
    return text;
}

char *realpath(const char *path, char *resolved)
{
    (void)resolved;
    return find_target(path);
}

ptrdiff_t attn_os_read_link(const char *path, char *target, size_t size)
{
    char *text = find_target(path);
    size_t n;

    if (!text)
        return -1;
    n = strlen(text) < size ? strlen(text) : size;
    memcpy(target, text, n);
    free(text);
    return (ptrdiff_t)n;
}

/* A program that looks at a new file, as those that search for viruses do, holds it for a while. */
int attn_os_rename(const char *from, const char *to)
{
    wchar_t *wide_from = wide_path(from), *wide_to = wide_path(to);
    int status = -1;

    for (int i = 0; wide_from && wide_to && status != 0 && i < N_TRY; i++) {
        if (i > 0)
            Sleep(PAUSE);
        status = MoveFileExW(wide_from, wide_to, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH)
                     ? 0
                     : fail();
        if (status != 0 && errno != EBUSY && errno != EACCES)
            break;
        if (status != 0 && attn_os_kind(to) == ATTN_OS_FOLDER) {
            errno = EISDIR;
            break;
        }
        if (status != 0)
            errno = EBUSY;
    }
    free(wide_from);
    free(wide_to);
    return status;
}

static int with_path(const char *path, BOOL(WINAPI *change)(LPCWSTR))
{
    wchar_t *wide = wide_path(path);
    int status = -1;

    if (wide)
        status = change(wide) ? 0 : fail_path(path);
    free(wide);
    return status;
}

int attn_os_remove(const char *path)
{
    return with_path(path, DeleteFileW);
}

int attn_os_remove_folder(const char *path)
{
    return with_path(path, RemoveDirectoryW);
}

static BOOL WINAPI make_folder(LPCWSTR path)
{
    return CreateDirectoryW(path, NULL);
}

int attn_os_make_folder(const char *path)
{
    return with_path(path, make_folder);
}

/* --- Descriptors ----------------------------------------------------------------------------- */

int attn_os_open(const char *path, unsigned how, unsigned access)
{
    const int own = own_descriptor(path);
    const DWORD wanted = (how & ATTN_OS_READ ? FILE_GENERIC_READ : 0) |
                         (how & ATTN_OS_WRITE ? FILE_GENERIC_WRITE | DELETE : 0);
    struct attn_os_info info;
    wchar_t *wide;
    HANDLE handle;
    int descriptor;

    (void)access;
    if (own >= 0)
        return attn_os_copy(own);
    wide = wide_path(path);
    if (!wide)
        return -1;
    handle = CreateFileW(wide, wanted, shared, NULL, how & ATTN_OS_NEW ? CREATE_NEW : OPEN_EXISTING,
                         FILE_ATTRIBUTE_NORMAL | FILE_FLAG_BACKUP_SEMANTICS |
                             (how & ATTN_OS_NO_LINK ? FILE_FLAG_OPEN_REPARSE_POINT : 0),
                         NULL);
    free(wide);
    if (handle == INVALID_HANDLE_VALUE)
        return fail_path(path);
    if (stat_handle(handle, &info) != 0 || info.kind == ATTN_OS_LINK ||
        (info.kind == ATTN_OS_FILE && attn_os_is_slash(path[strlen(path) - 1]))) {
        CloseHandle(handle);
        errno = info.kind == ATTN_OS_LINK ? ELOOP : ENOTDIR;
        return -1;
    }
    descriptor = _open_osfhandle((intptr_t)handle, _O_BINARY | _O_NOINHERIT |
                                                       (how & ATTN_OS_WRITE ? _O_RDWR : _O_RDONLY));
    if (descriptor < 0)
        CloseHandle(handle);
    return descriptor;
}

int attn_os_close(int descriptor)
{
    return _close(descriptor);
}

int attn_os_copy(int descriptor)
{
    if (handle_of(descriptor) != INVALID_HANDLE_VALUE)
        return _dup(descriptor);
    errno = EBADF;
    return -1;
}

/* Reads text of the console, which gives UTF-16. A line that begins with Ctrl-Z is the end. */
static ptrdiff_t read_console(HANDLE console, char *bytes, size_t size)
{
    wchar_t line[1024];
    const DWORD room = size / 3 < 1024 ? (DWORD)(size / 3) : 1024;
    DWORD n = 0;

    if (!ReadConsoleW(console, line, room, &n, NULL))
        return fail();
    if (n == 0 || line[0] == 26)
        return 0;
    return WideCharToMultiByte(CP_UTF8, 0, line, (int)n, bytes, (int)size, NULL, NULL);
}

static ptrdiff_t get(int descriptor, void *bytes, size_t size, OVERLAPPED *place)
{
    const HANDLE handle = handle_of(descriptor);
    struct attn_os_info info;
    DWORD n = 0;

    if (!place && attn_os_is_terminal(descriptor))
        return read_console(handle, bytes, size);
    if (ReadFile(handle, bytes, (DWORD)(size < MOST_AT_ONCE ? size : MOST_AT_ONCE), &n, place))
        return (ptrdiff_t)n;
    if (GetLastError() == ERROR_HANDLE_EOF || GetLastError() == ERROR_BROKEN_PIPE)
        return 0;
    fail();
    if (errno == EINVAL && stat_handle(handle, &info) == 0 && info.kind == ATTN_OS_FOLDER)
        errno = EISDIR;
    return -1;
}

static ptrdiff_t put(int descriptor, const void *bytes, size_t size, OVERLAPPED *place)
{
    DWORD n = 0;

    if (!WriteFile(handle_of(descriptor), bytes, (DWORD)(size < MOST_AT_ONCE ? size : MOST_AT_ONCE),
                   &n, place))
        return fail();
    return (ptrdiff_t)n;
}

static OVERLAPPED place_of(uint64_t offset)
{
    return (OVERLAPPED){.Offset = (DWORD)offset, .OffsetHigh = (DWORD)(offset >> 32)};
}

ptrdiff_t attn_os_read(int descriptor, void *bytes, size_t size)
{
    return get(descriptor, bytes, size, NULL);
}

ptrdiff_t attn_os_write(int descriptor, const void *bytes, size_t size)
{
    return put(descriptor, bytes, size, NULL);
}

ptrdiff_t attn_os_read_at(int descriptor, void *bytes, size_t size, uint64_t offset)
{
    OVERLAPPED place = place_of(offset);

    return get(descriptor, bytes, size, &place);
}

ptrdiff_t attn_os_write_at(int descriptor, const void *bytes, size_t size, uint64_t offset)
{
    OVERLAPPED place = place_of(offset);

    return put(descriptor, bytes, size, &place);
}

/* A pipe cannot be waited for, so it is looked at again and again. */
bool attn_os_wait(int descriptor, bool to_write, int milliseconds)
{
    const HANDLE handle = handle_of(descriptor);
    const ULONGLONG begun = GetTickCount64();
    DWORD n = 0;

    if (to_write)
        return true;
    if (attn_os_is_terminal(descriptor))
        return WaitForSingleObject(handle, milliseconds < 0 ? INFINITE : (DWORD)milliseconds) ==
               WAIT_OBJECT_0;
    if (GetFileType(handle) != FILE_TYPE_PIPE)
        return true;
    while (PeekNamedPipe(handle, NULL, 0, NULL, &n, NULL) && n == 0) {
        if (milliseconds >= 0 && GetTickCount64() - begun >= (ULONGLONG)milliseconds)
            return false;
        Sleep(1);
    }
    return true; /* bytes, the end, or a failure that reading reports */
}

void attn_os_reserve(int descriptor, uint64_t offset, uint64_t size)
{
    (void)descriptor, (void)offset, (void)size;
}

int attn_os_truncate(int descriptor, uint64_t size)
{
    FILE_END_OF_FILE_INFO end = {.EndOfFile.QuadPart = (LONGLONG)size};

    return SetFileInformationByHandle(handle_of(descriptor), FileEndOfFileInfo, &end, sizeof end)
               ? 0
               : fail();
}

void attn_os_set_access(int descriptor, unsigned access)
{
    (void)descriptor, (void)access;
}

/* Locks of Windows keep others from reading, so a byte that no file has is locked. */
int attn_os_lock(int descriptor)
{
    OVERLAPPED place = {.Offset = 0xfffffffe, .OffsetHigh = 0x7fffffff};

    return LockFileEx(handle_of(descriptor), LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0,
                      1, 0, &place)
               ? 0
               : fail();
}

int attn_os_open_memory(const char *name, char path[32])
{
    (void)name, (void)path;
    errno = EINVAL;
    return -1;
}

/* --- Process --------------------------------------------------------------------------------- */

unsigned attn_os_user(void)
{
    return 0;
}

bool attn_os_random(void *bytes, size_t size)
{
    errno = EIO;
    return RtlGenRandom(bytes, (ULONG)size);
}

int64_t attn_os_nanoseconds(void)
{
    LARGE_INTEGER frequency, count;

    QueryPerformanceFrequency(&frequency);
    QueryPerformanceCounter(&count);
    return count.QuadPart / frequency.QuadPart * 1000000000 +
           count.QuadPart % frequency.QuadPart * 1000000000 / frequency.QuadPart;
}

int64_t attn_os_local_time(void)
{
    const time_t now = time(NULL);
    struct tm wall;

    return localtime_s(&wall, &now) == 0 ? (int64_t)_mkgmtime(&wall) : (int64_t)now;
}

bool attn_os_is_terminal(int descriptor)
{
    DWORD mode;

    return GetConsoleMode(handle_of(descriptor), &mode) != 0;
}

size_t attn_os_columns(int descriptor)
{
    CONSOLE_SCREEN_BUFFER_INFO info;

    return GetConsoleScreenBufferInfo(handle_of(descriptor), &info)
               ? (size_t)(info.srWindow.Right - info.srWindow.Left + 1)
               : 0;
}

bool attn_os_strtod(const char *text, double *number)
{
    _locale_t locale;

    if (strcmp(localeconv()->decimal_point, ".") == 0) {
        *number = strtod(text, NULL);
        return true;
    }
    locale = _create_locale(LC_ALL, "C");
    if (!locale)
        return false;
    *number = _strtod_l(text, NULL, locale);
    _free_locale(locale);
    return true;
}
