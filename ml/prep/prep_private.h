/* prep_private.h - private to ml/prep/: the fitted state of a preparation, and a table seen through
 * it. */
#ifndef ML_PREP_PREP_PRIVATE_H
#define ML_PREP_PREP_PRIVATE_H

#include "ml/prep/gaps.h"
#include "ml/prep/prep.h"

#include <stdbool.h>

enum {
    PREP_MAX_BINS = 255,
    PREP_MISSING = 255,
    PREP_MAX_LEVELS = 65535,
    PREP_MAX_HOT = 100,
    PREP_WAVES = 3,
    PREP_SAMPLE = 200000,
    PREP_FEW_TEXTS = 64
};
/* rows that are made at a time */
enum { PREP_BLOCK = 4096 };

/* A column of the table that inputs are made of. */
struct prep_source {
    char *name;
    enum frame_type type;
    enum frame_kind kind;
    /* the input that is this column as it is; -1 = there is none */
    int input;
    /* NULL = none (gaps.h) */
    struct prep_gap *gap;
};

struct step_ops;
/* A fitted step (step.h). */
struct prep_step {
    const struct step_ops *ops;
    int n_sources, source[PREP_SOURCES];
    int n_parts;
    void *state;
    /* how many preparations have this state; NULL = this one alone */
    int *users;
};
/* The same state for one more preparation. Its sources are to be set. */
void prep_step_share(const struct prep_step *s, struct prep_step *out);
void prep_step_free(struct prep_step *s);

/* How a number is changed before it is used. */
enum prep_scale {
    PREP_AS_IS,
    /* Far from the rest of the column there are values so large that its spread says nothing about
     * the rest: dense rows have sign(z) * log(1 + |z|) of z = (x - median) / unit. */
    PREP_LOG,
    /* The column leaves the range of float32: everywhere its sign and its binary logarithm stand
     * for the number (prep_magnitude). */
    PREP_MAGNITUDE,
    /* Dense rows have z / sqrt(1 + (z / 3)^2) of z = (x - median) / unit (SCALE_ROBUST). */
    PREP_ROBUST,
    /* Dense rows have the logit of the rank (SCALE_QUANTILE). */
    PREP_RANKS,
    PREP_SCALES
};
/* Training rows whose level models see as new, so that they learn what to do without it: this share
 * of them, by chance (prep_is_hidden). */
struct prep_hidden {
    double share;
    uint64_t key;
};
bool prep_is_hidden(struct prep_hidden h, int64_t row);

/* An input. */
struct prep_col {
    char *name;
    enum frame_type type;
    int n_bins;
    /* -1: the values of the column `source` as they are; else part `part` of this step */
    int step, part, source;
    /* Of a numeric column: */
    float *cuts;   /* [n_bins - 1] strictly ascending, finite */
    double lo, hi; /* of the finite values seen */
    /* median: what missing values become, and the middle of PREP_LOG and PREP_ROBUST; another value
     * where the configuration wants it. mean and sd: after imputing, of dense rows after scaling
     * too. */
    double median, mean, sd;
    enum prep_scale scale;
    /* of PREP_LOG and PREP_ROBUST: the spread of the middle of the column */
    double unit;
    /* of PREP_RANKS: [n_bins + 1] the share of the values up to lo, to each cut, and to hi;
     * ascending from 0 to 1 */
    double *ranks;
    /* Of a categorical column: levels by frequency, equal ones by text. */
    int n_levels;
    char **levels;
    /* of a column that has means of the target; else its share is 0 */
    struct prep_hidden hidden;
    /* the first n_hot levels have a dense column of their own */
    int n_hot;
    /* one more column stands for all other levels */
    bool has_other;
    /* Of both: a dense column for missing values, with its mean and spread. */
    bool has_missing;
    double *hot_mean, *hot_sd; /* [n_hot + has_other + has_missing]; numeric: [has_missing] */
    /* Of a number that repeats: the length of its cycle, else 0. It then has 2 * PREP_WAVES more
     * dense columns, cos and sin of 1, 2 ... turns, with their means and spreads. */
    double cycle, wave_mean[2 * PREP_WAVES], wave_sd[2 * PREP_WAVES];
    int dense_at, dense_n;
    /* Of a number: the ends of its bins in dense form, [n_bins + 1] ascending; made of the rest, not
     * saved. */
    float *edges;
};

struct prep {
    int n_cols, width;
    /* the inputs */
    struct prep_col *cols;
    int n_sources, n_steps, cap_steps;
    struct prep_source *sources;
    struct prep_step *steps;
    /* [columns of the frame] 1 + its source, 0 = it has none. Only while the preparation is fitted;
     * then NULL, since later frames have their columns elsewhere. */
    int *source_of;
    /* height 0 = no images; its member `first` means nothing here */
    struct frame_image image;
    double channel_mean[FRAME_MAX_CHANNELS], channel_sd[FRAME_MAX_CHANNELS];
};

/* gaps_bytes.c: how many columns have gaps (gaps.h); and the gaps as bytes, which are checked when
 * they are loaded, after all that they refer to. */
int prep_gaps(const struct prep *p);
int prep_gaps_save(const struct prep *p, struct buf *out, struct err *err);
int prep_gaps_load(struct prep *p, struct view *in, struct err *err);

struct step_view;
/* Which rows a view's supervised steps take their values from; NULL = all that the preparation was
 * fitted on. */
struct prep_fold {
    const struct prep_target *target;
    uint8_t *train; /* [rows] */
};

struct prep_view {
    const struct prep *prep;
    const struct frame *frame;
    int *col;      /* [n_sources] column of the frame */
    int32_t **map; /* [n_sources] frame level -> prep level or -1; NULL for numeric */
    struct view_numbers *numbers; /* [n_sources] levels by value where the frame has numbers */
    struct step_view *steps;      /* [n_steps] */
    struct prep_fold *fold;
    /* the column (source) that is shown in another order (prep_view_shuffle); its rows are in the
     * next two members, as they are in the frame */
    int shuffled;
    /* NULL: no column is shuffled, or it has levels */
    double *shuffled_numbers;
    int32_t *shuffled_codes;
    /* prep_view_mix: [n_sources][n_mixed] rows of the frame; NULL = each column shows its own */
    const int32_t *mixed;
    int64_t n_mixed;
};

struct view_numbers {
    /* 0 = the table has levels here */
    int n;
    double *value; /* ascending */
    int32_t *level;
};

/* prep_cuts.c: at most max_bins bins for `n` sorted distinct values with counts. last[b] = index of
 * the last value of bin b. Returns the number of bins. */
int prep_cut(const int64_t *count, int64_t n, int max_bins, int64_t *last);
/* Room to sort up to `most` values, one column after the other. */
struct prep_sorter {
    uint32_t *key;
    float *value;
    int64_t *count;
    int64_t most;
    int64_t n_sorted; /* of the last column cut: its values, without NaN, stand sorted in `key` */
};
int prep_sorter_init(struct prep_sorter *s, int64_t most, struct err *err);
void prep_sorter_fini(struct prep_sorter *s);
/* The cuts of a numeric column from sampled values (NaN is skipped): allocates col->cuts and sets
 * n_bins and the median. */
void prep_cuts_fit(struct prep_col *col, const double *sample, int64_t n, struct prep_sorter *s);

/* prep_drop.c: leaves out steps that make no input, and columns that nothing is made of. */
void prep_drop_unused(struct prep *p);

/* prep_levels.c: mean and spread of 0/1 column i of the input. */
void prep_hot_set(struct prep_col *col, int i, int64_t ones, int64_t n);
/* A column of levels, or one of whole numbers that becomes levels: sets the levels and what follows
 * from their counts; n_used: rows to fit on. 1 = an input; 0 = the column tells nothing. */
int prep_levels_fit(const struct prep_spec *spec, int at, int64_t n_used, struct prep_col *col,
                    struct err *err);
int prep_codes_fit(const struct prep_spec *spec, int at, int64_t n_used, struct prep_col *col,
                   struct err *err);
/* Whether the configuration wants the levels of this column, which holds numbers (CODES_LEVELS). */
bool prep_codes_are_levels(const struct prep_spec *spec, int at, int64_t n_used);

/* prep_images.c: takes the images' shape, and the statistics of their channels from n rows. */
int prep_images_fit(struct prep *p, const struct frame *f, const int64_t *rows, int64_t n,
                    struct err *err);

/* prep_scale.c: what PREP_MAGNITUDE makes of a number, and whether a column is in need of it. */
double prep_magnitude(double x);
bool prep_leaves_float(const double *sample, int64_t n);
/* What the other scales make of a number, which is not NaN, before it is standardised. */
double prep_scaled(const struct prep_col *c, double x);
/* Chooses the scale of a column with cuts (choice: SCALE_AUTO ..), and makes mean and sd those of the
 * scaled values. sample is overwritten. */
void prep_scale_fit(struct prep_col *col, int choice, double *sample, int64_t n,
                    const struct prep_sorter *s);
/* prep_dense.c: cos and sin of 1, 2 ... PREP_WAVES turns of x in the cycle. */
void prep_waves(double cycle, double x, double out[2 * PREP_WAVES]);
/* prep_dense.c */
void prep_edges_make(struct prep_col *c);
/* sets dense_at, dense_n, edges and width */
void prep_layout(struct prep *p);
/* prep_view.c. Rows of one input: numbers (missing = NaN), or levels of the preparation (missing or
 * unknown = -1). */
void prep_view_numbers(const struct prep_view *v, int input, int64_t from, int64_t n, double *out);
void prep_view_levels(const struct prep_view *v, int input, int64_t from, int64_t n, int32_t *out);
/* Rows of one column: numbers, with its gaps closed, or codes of its levels as they are in the frame
 * (missing = -1). */
void prep_source_numbers(const struct prep_view *v, int source, int64_t from, int64_t n,
                         double *out);
void prep_source_codes(const struct prep_view *v, int source, int64_t from, int64_t n,
                       int32_t *out);
/* Whether the values of an input differ from fold to fold. */
bool prep_input_is_by_fold(const struct prep *p, int input);
/* While fitting: the input that is this column of the frame as it is; -1 = there is none. */
int prep_plain_input(const struct prep *p, int col);
/* While fitting: the source that is this column of the frame; adds it where there is none. */
int prep_source_take(struct prep *p, const struct frame *f, int col);
/* The levels of an input that read as numbers, by value: *out gets what view_numbers_free frees. Of
 * two spellings of one number the more frequent one is taken. */
void prep_map_numbers(const struct prep_col *c, struct view_numbers *out);
void view_numbers_free(struct view_numbers *m);
/* The levels of numbers: PREP_NO_LEVEL where one is missing, PREP_NEW_LEVEL where it has none. */
void prep_levels_of_numbers(const struct view_numbers *m, const double *x, int64_t n, int32_t *out);
/* [levels of the table] the level of the preparation, or -1; mem_try_free. NULL = no memory. */
int32_t *prep_map_levels(const struct prep_col *c, const struct frame_col *fc);
/* Rows of a column of levels as levels of its plain input; missing = -1, unknown = -2. */
enum { PREP_NO_LEVEL = -1, PREP_NEW_LEVEL = -2 };
void prep_source_levels(const struct prep_view *v, int source, int64_t from, int64_t n,
                        int32_t *out);

#endif
