/* glob.c - see glob.h. After a mismatch only the last * takes one more character: what matched
 * before it can stay, since a later * can take all that an earlier one could. */
#include "base/text/glob.h"

bool attn_glob_matches(const char *glob, size_t size, const char *name)
{
    const char *taken = NULL; /* where the last * ends in NAME */
    size_t at = 0, star = 0;  /* star: the place after that * */

    while (*name != '\0') {
        if (at < size && glob[at] == '*') {
            star = ++at;
            taken = name;
        } else if (at < size && (glob[at] == '?' || glob[at] == *name)) {
            at++;
            name++;
        } else if (taken) {
            at = star;
            name = ++taken;
        } else {
            return false;
        }
    }
    while (at < size && glob[at] == '*')
        at++;
    return at == size;
}
