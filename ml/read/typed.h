/* typed.h - columns whose types their file declares, on their way into a frame.
 *
 * Numbers and dates are taken as they are. Texts go through the rules of CSV cells, so that a
 * value means the same in every format: a column of texts that are numbers is numeric, "NA" is
 * missing, an override holds as it does for CSV. Used by formats.c and jsonl.c. */
#ifndef ML_READ_TYPED_H
#define ML_READ_TYPED_H

#include "ml/read/columnar/cells.h"
#include "ml/read/csv_table.h"

struct typed {
    struct csv_table table;
    const struct csv_opts *opts;
    /* rows of the groups taken, and of the group at hand: all of it, and given of the column */
    int64_t rows, group_rows, given;
    int col;
    /* of one stretch: texts one after another, each followed by a byte */
    char *text;
    size_t text_cap;
    uint32_t *ends;
    /* codes of the texts that stretches share; -2 = not known yet */
    uint32_t *codes;
    size_t codes_cap;
    uint64_t serial;
    int serial_col;
};

/* Takes the n names (heap texts) in any case. Checks them. overrides: of opts. */
int typed_init(struct typed *t, const char *path, char **names, int n, const struct csv_opts *opts,
               struct err *err);
void typed_fini(struct typed *t);
/* A group of rows: each column's stretches in the order of the rows, ascending columns. */
void typed_group(struct typed *t, int64_t rows);
/* cells_take; ctx: the struct typed. */
int typed_take(void *ctx, int col, const struct cells *cells, struct err *err);
/* bytes: of memory that the reader of the file holds; taken: of the file so far. Fails when the
 * memory allowed is passed, or when the file declares more than its bytes can hold. */
int typed_check(const struct typed *t, int64_t bytes, int64_t taken, struct err *err);
void typed_group_end(struct typed *t);
int typed_end(struct typed *t, char hash[SHA256_HEX], struct err *err);

#endif
