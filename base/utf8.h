/* utf8.h - whether bytes are UTF-8. A unit of its own, below err.h, because error texts are checked too. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

bool utf8_ok(const char *s, size_t n); /* NUL bytes count as characters */

#endif
