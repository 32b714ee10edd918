/* utf8.h - checks whether bytes are UTF-8, and makes them so. This is a unit of its own below
 * err.h, because err.c uses it to keep error texts valid. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

bool utf8_ok(const char *s, size_t n); /* NUL bytes count as characters */
/* Makes a text in a buffer of `size` bytes valid UTF-8: drops a character that the end of the
 * buffer has cut in two, and replaces each other byte that belongs to no character by '?'. */
void utf8_clean(char *s, size_t size);

#endif
