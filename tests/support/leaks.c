/*
 * leaks.c - what LeakSanitizer may pass over: fontconfig keeps its caches to the end of the
 * process, and cairo its fonts. Linked into what make MODE=asan builds.
 */
#if defined(__SANITIZE_ADDRESS__)

const char *__lsan_default_suppressions(void);
const char *__lsan_default_options(void);

__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void)
{
    return "leak:libfontconfig\nleak:libcairo\n";
}

/* It would print what it passed over. */
__attribute__((visibility("default"))) const char *__lsan_default_options(void)
{
    return "print_suppressions=0";
}

#endif

typedef int attn_leaks_is_no_empty_source;
