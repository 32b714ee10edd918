/* json_text.h - writes the few JSON texts that ml/ makes (schemas of tables and models) without a
 * JSON library, because ml/ must build with a bare compiler. Every function adds to a buffer and
 * fails only when the buffer is full. */
#ifndef ML_TABLE_JSON_TEXT_H
#define ML_TABLE_JSON_TEXT_H

#include "base/buf.h"

/* quoted and escaped; s is UTF-8 */
int json_text_str(struct buf *b, const char *s, struct err *err);
/* the shortest text that reads back as the same number; null when v is not finite */
int json_text_num(struct buf *b, double v, struct err *err);

#endif
