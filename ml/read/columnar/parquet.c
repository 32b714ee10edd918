/* parquet.c - see parquet.h. Of each column of a row group: its dictionary, then its pages, a
 * stretch of values at a time; rows without a value are put between them. Called by
 * ml/read/typed.c. */
#include "ml/read/columnar/parquet.h"

#include "base/mem.h"
#include "ml/read/columnar/parquet_values.h"

#include <math.h>
#include <string.h>

/* The values of a dictionary page. */
struct dictionary {
    bool is_there;
    uint8_t *bytes;
    /* 36 characters for each UUID */
    char *uuids;
    double *numbers;
    struct cells_text *texts;
    uint32_t n;
    int64_t held;
    uint64_t serial;
};

struct parquet {
    struct columnar_file file;
    struct parquet_meta meta;
    struct parquet_chunk *chunks;
    bool *wanted;
    struct parquet_pages pages;
    struct parquet_values values;
    struct dictionary dict;
    /* of one stretch */
    double *numbers;
    struct cells_text *texts;
    uint32_t *index;
    uint8_t *valid;
    char *uuids;
};

struct parquet *parquet_open(const struct columnar_file *file, struct err *err)
{
    struct parquet *p = mem_zalloc(sizeof(*p));

    p->file = *file;
    if (parquet_meta_read(&p->meta, file, err) < 0) {
        parquet_close(p);
        return NULL;
    }
    p->chunks = mem_array((size_t)p->meta.n_leaves, sizeof(*p->chunks));
    p->wanted = mem_array((size_t)p->meta.n_cols, sizeof(*p->wanted));
    p->numbers = mem_array(PARQUET_STRETCH, sizeof(*p->numbers));
    p->texts = mem_array(PARQUET_STRETCH, sizeof(*p->texts));
    p->index = mem_array(PARQUET_STRETCH, sizeof(*p->index));
    p->valid = mem_array(PARQUET_STRETCH, sizeof(*p->valid));
    p->uuids = mem_zalloc((size_t)PARQUET_STRETCH * LOGICAL_UUID_CHARS + CELLS_PAD);
    return p;
}

static void dictionary_drop(struct dictionary *d)
{
    mem_try_free(d->bytes);
    mem_try_free(d->uuids);
    mem_try_free(d->numbers);
    mem_try_free(d->texts);
    *d = (struct dictionary){ .serial = d->serial };
}

void parquet_close(struct parquet *p)
{
    if (!p)
        return;
    parquet_meta_fini(&p->meta);
    parquet_pages_fini(&p->pages);
    parquet_values_fini(&p->values);
    dictionary_drop(&p->dict);
    mem_free(p->chunks);
    mem_free(p->wanted);
    mem_free(p->numbers);
    mem_free(p->texts);
    mem_free(p->index);
    mem_free(p->valid);
    mem_free(p->uuids);
    mem_free(p);
}

struct cells_col *parquet_cols(struct parquet *p, int *n)
{
    *n = p->meta.n_cols;
    return p->meta.names;
}

int64_t parquet_rows(const struct parquet *p)
{
    return p->meta.rows;
}

int parquet_groups(const struct parquet *p)
{
    return p->meta.n_groups;
}

int64_t parquet_group_rows(const struct parquet *p, int group)
{
    return p->meta.groups[group].rows;
}

int64_t parquet_bytes(const struct parquet *p)
{
    return parquet_pages_bytes(&p->pages) + (int64_t)p->values.made_cap + p->dict.held +
           (int64_t)PARQUET_STRETCH * 64;
}

/* ---- the dictionary ---- */

static void uuids_write(struct cells_text *texts, int64_t n, char *room)
{
    for (int64_t i = 0; i < n; i++, room += LOGICAL_UUID_CHARS) {
        logical_uuid((const uint8_t *)texts[i].p, room);
        texts[i] = (struct cells_text){ room, LOGICAL_UUID_CHARS };
    }
}

/* Memory for n values, of which each takes a byte of the page at least. */
static int dictionary_room(struct dictionary *d, const struct parquet_col *col,
                           const struct parquet_page *page, struct err *err)
{
    size_t bytes = (size_t)(page->end - page->p), n = (size_t)page->values;
    bool is_text = logical_kind(&col->logical) == CELLS_TEXTS;

    if (n > bytes / 2)
        return err_set(err, ERR_ARG, "a dictionary of %zu values in %zu bytes", n, bytes);
    d->bytes = mem_try_alloc(bytes + CELLS_PAD);
    if (is_text)
        d->texts = mem_try_alloc((n + 1) * sizeof(*d->texts));
    else
        d->numbers = mem_try_alloc((n + 1) * sizeof(*d->numbers));
    if (col->logical.as == AS_UUID)
        d->uuids = mem_try_zalloc(n * LOGICAL_UUID_CHARS + CELLS_PAD);
    if (!d->bytes || (!d->texts && !d->numbers) || (col->logical.as == AS_UUID && !d->uuids))
        return err_set(err, ERR_NOMEM, "no memory for a dictionary of %zu values", n);
    memcpy(d->bytes, page->p, bytes);
    memset(d->bytes + bytes, 0, CELLS_PAD);
    d->n = (uint32_t)n;
    d->held = (int64_t)(bytes + n * (is_text ? sizeof(*d->texts) : sizeof(*d->numbers)));
    return 0;
}

static int dictionary_load(struct parquet *p, const struct parquet_col *col,
                           const struct parquet_page *page, struct err *err)
{
    struct dictionary *d = &p->dict;
    struct parquet_page own = *page;

    if (d->is_there)
        return err_set(err, ERR_ARG, "a second dictionary");
    if ((page->encoding != PQ_PLAIN && page->encoding != PQ_PLAIN_DICTIONARY) ||
        col->logical.as == AS_BOOL)
        return err_set(err, ERR_ARG, "a dictionary of encoding %d", page->encoding);
    if (dictionary_room(d, col, page, err) < 0)
        return -1;
    own.p = d->bytes;
    own.end = d->bytes + (page->end - page->p);
    own.encoding = PQ_PLAIN;
    if (parquet_values_start(&p->values, col, &own, err) < 0)
        return -1;
    for (int64_t at = 0; at < page->values; at += PARQUET_STRETCH) {
        int64_t n = MIN(page->values - at, PARQUET_STRETCH);
        int rc = d->texts ? parquet_values_texts(&p->values, n, d->texts + at, err)
                          : parquet_values_numbers(&p->values, n, d->numbers + at, err);
        if (rc < 0)
            return -1;
    }
    if (d->uuids)
        uuids_write(d->texts, page->values, d->uuids);
    d->is_there = true;
    d->serial++;
    return 0;
}

/* ---- a stretch ---- */

/* Which of n rows have a value: p->valid. Returns how many, or -1. */
static int64_t levels_take(struct parquet *p, struct rle *levels, int64_t n, struct err *err)
{
    int64_t done = 0, present = 0;
    uint32_t value = 0, some[256];

    while (done < n) {
        int64_t part = rle_repeats(levels, n - done, &value);
        if (part > 0) {
            memset(p->valid + done, (int)(value & 1), (size_t)part);
            rle_pass(levels, part);
            present += value & 1 ? part : 0;
        } else {
            part = MIN(n - done, (int64_t)ARRAY_LEN(some));
            if (!rle_take(levels, part, some))
                return err_set(err, ERR_ARG, "its levels are damaged");
            for (int64_t i = 0; i < part; i++)
                present += p->valid[done + i] = some[i] & 1;
        }
        done += part;
    }
    return present;
}

/* Moves n_there values to the rows that have one. Backwards, because both share the memory. */
#define SPREAD(array, absent)                                         \
    do {                                                              \
        for (int64_t i_ = n, from_ = n_there; i_-- > 0;)              \
            (array)[i_] = p->valid[i_] ? (array)[--from_] : (absent); \
    } while (0)

static int numbers_give(struct parquet *p, const struct parquet_col *col, int64_t n_there,
                        int64_t n, struct cells *cells, struct err *err)
{
    (void)col;
    if (parquet_values_numbers(&p->values, n_there, p->numbers, err) < 0)
        return -1;
    if (n_there < n)
        SPREAD(p->numbers, (double)NAN);
    cells->numbers = p->numbers;
    return 0;
}

static int texts_give(struct parquet *p, const struct parquet_col *col, int64_t n_there, int64_t n,
                      struct cells *cells, struct err *err)
{
    static const struct cells_text absent = { NULL, 0 };

    if (parquet_values_texts(&p->values, n_there, p->texts, err) < 0)
        return -1;
    if (col->logical.as == AS_UUID)
        uuids_write(p->texts, n_there, p->uuids);
    if (n_there < n)
        SPREAD(p->texts, absent);
    cells->texts = p->texts;
    return 0;
}

/* The words have CELLS_PAD readable bytes behind them. */
static const struct cells_text *bool_words(void)
{
    static const char words[] = "false\0true\0                                ";
    static const struct cells_text texts[] = { { words, 5 }, { words + 6, 4 } };

    return texts;
}

static int bools_give(struct parquet *p, int64_t n_there, int64_t n, struct cells *cells,
                      struct err *err)
{
    if (parquet_values_bools(&p->values, n_there, p->index, err) < 0)
        return -1;
    if (n_there < n)
        SPREAD(p->index, CELLS_MISSING_INDEX);
    cells->texts = bool_words();
    cells->index = p->index;
    cells->n_texts = 2;
    cells->serial = 0;
    return 0;
}

static int places_give(struct parquet *p, struct rle *places, int64_t n_there, int64_t n,
                       struct cells *cells, struct err *err)
{
    const struct dictionary *d = &p->dict;
    uint32_t most = 0;

    if (!rle_take(places, n_there, p->index))
        return err_set(err, ERR_ARG, "it holds fewer values than it says");
    for (int64_t i = 0; i < n_there; i++)
        most = MAX(most, p->index[i]);
    if (n_there > 0 && most >= d->n)
        return err_set(err, ERR_ARG, "value %u of a dictionary of %u", most, d->n);
    if (d->numbers) {
        for (int64_t i = 0; i < n_there; i++)
            p->numbers[i] = d->numbers[p->index[i]];
        if (n_there < n)
            SPREAD(p->numbers, (double)NAN);
        cells->numbers = p->numbers;
        return 0;
    }
    if (n_there < n)
        SPREAD(p->index, CELLS_MISSING_INDEX);
    cells->texts = d->texts;
    cells->index = p->index;
    cells->n_texts = d->n;
    cells->serial = d->serial;
    return 0;
}

/* ---- a page ---- */

static int places_start(struct parquet *p, const struct parquet_page *page, struct rle *places,
                        struct err *err)
{
    if (!p->dict.is_there)
        return err_set(err, ERR_ARG, "its dictionary is missing");
    int width = page->p < page->end ? *page->p : 0;
    if (width > 32)
        return err_set(err, ERR_ARG, "its values are damaged");
    rle_init(places, page->p + (page->p < page->end), page->end, width);
    return 0;
}

/* Hands over the first `rows` rows of the page. */
static int page_give(struct parquet *p, int c, const struct parquet_page *page, int64_t rows,
                     cells_take *take, void *ctx, struct err *err)
{
    const struct parquet_col *col = &p->meta.cols[c];
    bool has_places = page->encoding == PQ_PLAIN_DICTIONARY || page->encoding == PQ_RLE_DICTIONARY;
    struct rle levels, places;
    int rc = has_places ? places_start(p, page, &places, err)
                        : parquet_values_start(&p->values, col, page, err);
    int64_t most = has_places ? PARQUET_STRETCH : p->values.most;

    rle_init(&levels, page->levels, page->levels_end, 1);
    for (int64_t left = rows; left > 0 && rc == 0;) {
        int64_t n = MIN(left, most), n_there = n;
        struct cells cells = { .kind = p->meta.names[c].kind, .n = n };
        if (col->is_optional)
            n_there = levels_take(p, &levels, n, err);
        if (n_there < 0)
            return -1;
        if (has_places)
            rc = places_give(p, &places, n_there, n, &cells, err);
        else if (col->logical.as == AS_BOOL)
            rc = bools_give(p, n_there, n, &cells, err);
        else if (cells.kind == CELLS_TEXTS)
            rc = texts_give(p, col, n_there, n, &cells, err);
        else
            rc = numbers_give(p, col, n_there, n, &cells, err);
        if (rc == 0)
            rc = take(ctx, c, &cells, err);
        left -= n;
    }
    return rc;
}

/* Hands over the first `rows` of the column's group_rows in the row group. */
static int column_give(struct parquet *p, int c, int64_t rows, int64_t group_rows, cells_take *take,
                       void *ctx, struct err *err)
{
    const struct parquet_col *col = &p->meta.cols[c];
    struct parquet_page page;
    int64_t given = 0;
    int rc;

    dictionary_drop(&p->dict);
    parquet_pages_start(&p->pages, &p->file, &p->chunks[col->leaf], col->is_optional);
    while (given < rows && (rc = parquet_pages_next(&p->pages, &page, err)) != 0) {
        if (rc < 0)
            return -1;
        int64_t n = page.is_dictionary ? 0 : MIN(page.values, rows - given);
        if (page.is_dictionary)
            rc = dictionary_load(p, col, &page, err);
        else if (page.values > group_rows - given)
            rc = err_set(err, ERR_ARG, "it has more values than the row group has rows");
        else
            rc = page_give(p, c, &page, n, take, ctx, err);
        if (rc < 0)
            return err_wrap(err, "page %d", p->pages.number);
        given += n;
    }
    return given < rows ? err_set(err, ERR_ARG, "its pages end before its rows do") : 0;
}

int parquet_group_read(struct parquet *p, int group, int64_t rows, cells_take *take, void *ctx,
                       struct err *err)
{
    struct parquet_meta *m = &p->meta;

    for (int c = 0; c < m->n_cols; c++)
        p->wanted[c] = !m->names[c].refused && !m->names[c].is_skipped;
    if (parquet_meta_chunks(m, &p->file, group, p->wanted, p->chunks, err) < 0)
        return -1;
    for (int c = 0; c < m->n_cols; c++) {
        if (p->wanted[c] && column_give(p, c, rows, m->groups[group].rows, take, ctx, err) < 0)
            return err_wrap(err, "column \"%.100s\", row group %d", m->names[c].name, group + 1);
    }
    return 0;
}
