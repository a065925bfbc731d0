/*
 * wasi.h - functions of Linux that wasi-libc lacks, implemented in system_wasm.c; `make wasm`
 * includes it before every source.
 *
 * Functions that WASI cannot support fail with ENOSYS. There is no terminal, and no user.
 */
#if !defined ATTN_BASE_WASI_H && !defined __ASSEMBLER__
#define ATTN_BASE_WASI_H

#include <fcntl.h>
#include <stddef.h>
#include <sys/types.h>

#define O_PATH O_RDONLY
#define F_DUPFD_CLOEXEC 1030
#define FALLOC_FL_KEEP_SIZE 1
#define MFD_CLOEXEC 1
#define TIOCGWINSZ 0x5413
#define RLIMIT_STACK 3
#define RLIM_INFINITY (~0ULL)

typedef unsigned long long rlim_t;
struct rlimit {
    rlim_t rlim_cur, rlim_max;
};
struct winsize {
    unsigned short ws_row, ws_col;
};

int dup(int descriptor);
int fallocate(int descriptor, int mode, off_t offset, off_t size);
int fchmod(int descriptor, mode_t mode);
uid_t geteuid(void);
int flock(int descriptor, int operation);
int getrlimit(int resource, struct rlimit *limit);
ssize_t getrandom(void *bytes, size_t size, unsigned flags);
int memfd_create(const char *name, unsigned flags);
char *realpath(const char *path, char *resolved);

#endif
