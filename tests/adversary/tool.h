/* tool.h - runs attn-cli with a case. */
#pragma once

#include "tests/adversary/case.h"

struct attn_tool_run {
    char wrong[512]; /* what is wrong with how it ended; "" when nothing is */
    double seconds;  /* of the processor */
    size_t resident; /* bytes, at most */
};

/*
 * Runs the tool of the same build folder in FOLDER, which holds the files of C, for at most SECONDS
 * of the processor and, unless it is 0, within ROOM bytes beside what it takes for nothing. It must
 * end with 0, or with the exit status of the case and one line of error, having written nothing.
 * Removes FOLDER.
 */
struct attn_tool_run attn_tool_run(const struct attn_case *c, const char *folder, int seconds,
                                   size_t room);
