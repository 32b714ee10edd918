/* json_text.h - writing the few JSON texts that ml/ makes (frame schema, artifact schema) without a JSON library: ml/
 * must build with a bare compiler. Every function adds to a buffer and fails only at its ceiling. */
#ifndef ML_TABLE_JSON_TEXT_H
#define ML_TABLE_JSON_TEXT_H

#include "base/buf.h"

int json_text_str(struct buf *b, const char *s,
                  struct err *err); /* quoted and escaped; s is UTF-8 */
int json_text_num(struct buf *b, double v,
                  struct err *err); /* shortest text that reads back; null when not finite */

#endif
