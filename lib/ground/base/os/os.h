/*
 * os.h - files, folders, descriptors, time, random bytes and terminals of the operating system.
 *
 * Descriptors 0, 1 and 2 are the standard streams. Paths are UTF-8. Functions that return an int
 * return -1 on failure, those that return a size, too; errno has the reason, as on POSIX.
 *
 * os_posix.c serves Linux, macOS and WebAssembly, os_windows.c Windows, and what each of them has
 * alone is in system_linux.c, system_macos.c and system_wasm.c. These and other sources with such
 * endings are the only ones that include a header of a system.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ATTN_OS_INPUT = 0, ATTN_OS_OUTPUT = 1, ATTN_OS_ERRORS = 2 }; /* descriptors */

/* --- Files and folders ----------------------------------------------------------------------- */

enum attn_os_kind {
    ATTN_OS_ABSENT, /* or unknown */
    ATTN_OS_FILE,   /* a regular file */
    ATTN_OS_FOLDER,
    ATTN_OS_LINK,
    ATTN_OS_PIPE, /* with or without a name */
    ATTN_OS_SOCKET,
    ATTN_OS_DEVICE,
};

struct attn_os_info {
    enum attn_os_kind kind;
    bool is_shared;          /* for a folder: all may write to it, but not remove what others own */
    unsigned access;         /* permissions, as nine bits */
    unsigned user;           /* the owner */
    uint64_t device, number; /* identify the file together */
    int64_t size;            /* bytes */
    int64_t changed;         /* nanoseconds from 1970 to the last write */
};

/* Describe a file: the first and third the target of a link, the second the link. */
int attn_os_stat(const char *path, struct attn_os_info *info);
int attn_os_stat_link(const char *path, struct attn_os_info *info);
int attn_os_stat_open(int descriptor, struct attn_os_info *info);

/* Returns the kind of the file PATH, or of its target if PATH is a link. */
enum attn_os_kind attn_os_kind(const char *path);

bool attn_os_exists(const char *path);
bool attn_os_may_read(const char *path);
bool attn_os_may_write(const char *path); /* false: errno has the reason */

/* Returns false if FOLDER lacks NAME, and true if it has it or if that is unknown. A link counts
 * even if its target is missing. Allocates no memory. */
bool attn_os_may_have(const char *folder, const char *name);

/* Calls ON_NAME for each name in FOLDER except "." and "..", in any order, until it returns false.
 */
int attn_os_list(const char *folder, bool (*on_name)(void *user, const char *name), void *user);

ptrdiff_t attn_os_read_link(const char *path, char *target, size_t size);
int attn_os_rename(const char *from, const char *to); /* replaces TO */
int attn_os_remove(const char *path);
int attn_os_make_folder(const char *path);
int attn_os_remove_folder(const char *path); /* which must be empty */

/* Returns the last character of PATH that separates two of its parts; NULL if it has one part. */
const char *attn_os_last_slash(const char *path);
bool attn_os_is_slash(char c);
bool attn_os_is_absolute(const char *path);

/* Returns the text between the paths of a list in an environment variable, a character. */
const char *attn_os_between_paths(void);

/* --- Descriptors ----------------------------------------------------------------------------- */

/* How to open a file: one of the first three, and others. */
enum {
    ATTN_OS_READ = 1,
    ATTN_OS_WRITE = 2,
    ATTN_OS_READ_WRITE = ATTN_OS_READ | ATTN_OS_WRITE,
    ATTN_OS_NEW = 4,     /* makes the file, which must be absent */
    ATTN_OS_NO_LINK = 8, /* fails if PATH is a link */
    ATTN_OS_NO_WAIT = 16 /* does not wait for the other end of a FIFO */
};

/* Opens PATH. Programs that this one starts do not get the descriptor. ACCESS has the permissions
 * of a new file. */
int attn_os_open(const char *path, unsigned how, unsigned access);
int attn_os_close(int descriptor);
int attn_os_copy(int descriptor); /* returns another descriptor of the same file */

ptrdiff_t attn_os_read(int descriptor, void *bytes, size_t size);
ptrdiff_t attn_os_write(int descriptor, const void *bytes, size_t size);
ptrdiff_t attn_os_read_at(int descriptor, void *bytes, size_t size, uint64_t offset);
ptrdiff_t attn_os_write_at(int descriptor, const void *bytes, size_t size, uint64_t offset);

/* Waits at most MILLISECONDS, forever if negative, until DESCRIPTOR can be read, or written to.
 * Returns false if it cannot yet. */
bool attn_os_wait(int descriptor, bool to_write, int milliseconds);

/* Reserves SIZE bytes of the disk at OFFSET. Only an optimization; the system may refuse. */
void attn_os_reserve(int descriptor, uint64_t offset, uint64_t size);

int attn_os_truncate(int descriptor, uint64_t size);
void attn_os_set_access(int descriptor, unsigned access); /* the system may refuse */

/* Locks a file for this process until the descriptor is closed. EWOULDBLOCK if another process has
 * the lock. */
int attn_os_lock(int descriptor);

/* Makes a file that lives in memory as long as the process, and writes its path to PATH. */
int attn_os_open_memory(const char *name, char path[32]);

/* --- Process --------------------------------------------------------------------------------- */

unsigned attn_os_user(void);
bool attn_os_random(void *bytes, size_t size); /* unpredictable bytes; at most 256 */

int64_t attn_os_nanoseconds(void); /* of a clock that is never set, from an arbitrary start */
int64_t attn_os_local_time(void);  /* seconds from 1970, in local time */

bool attn_os_is_terminal(int descriptor);
size_t attn_os_columns(int descriptor); /* of a terminal; 0 if unknown */

/* The C library's functions in the "C" locale, whatever the process has set. */
bool attn_os_strtod(const char *text, double *number); /* false: no memory */
const char *attn_os_error_text(int error);             /* valid until the next call */
