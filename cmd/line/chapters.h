/* chapters.h - the chapters of the manual by name, for who asks the tool about one. */
#ifndef CMD_CHAPTERS_H
#define CMD_CHAPTERS_H

#include <stdbool.h>

enum { CHAPTER_HINT_SIZE = 160 };

/* Writes into HINT which topic, command or chapter of the manual NAME, "gguf", is about. Returns
 * whether there is one. */
bool chapter_hint(const char *name, char hint[CHAPTER_HINT_SIZE]);

#endif
