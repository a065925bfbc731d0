/* test_session_core.c - test_session.c with the families of the core alone: linked with no other.
 */
#define CORE_ALONE
#include "tests/unit/test_session.c"
