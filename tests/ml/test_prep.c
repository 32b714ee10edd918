/* test_prep.c - compares the preparation of columns with known answers: cuts of numbers, ranks of
 * levels, imputed and standardised values. It also tests what a view does with missing columns,
 * other types and unknown levels, and that a saved preparation loads unchanged while damaged bytes
 * are refused or do no harm. */
#include "tests/ml/csv_rig.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/prep/prep.h"
#include "ml/prep/prep_private.h"

#include <math.h>

static struct prep *fitted(const struct frame *f, const char *skip, const uint8_t *use)
{
    struct err err = { 0 };
    const char *const skipped[] = { skip, NULL };
    const struct prep_spec spec = { .frame = f, .skip = skipped, .use = use };
    struct prep *p = prep_fit(&spec, &err);

    if (!p)
        fail_msg("%s", err.text);
    return p;
}

static struct prep_view *viewed(const struct prep *p, const struct frame *f)
{
    struct err err = { 0 };
    struct prep_view *v = prep_view_new(p, f, &err);

    if (!v)
        fail_msg("%s", err.text);
    return v;
}

static void columns_without_information_are_left_out(void **state)
{
    struct frame *f = csv_frame(
        "y,const,empty,id,same,half,num\n1,5,,a,x,,1\n0,5,,b,x,u,2\n1,5,,c,x,u,3\n", NULL);
    const uint8_t first_two[] = { 1, 1, 0 };
    struct prep *p = fitted(f, "y", NULL);

    (void)state;
    assert_int_equal(prep_inputs(p), 2);
    assert_string_equal(prep_input_name(p, 0), "half");
    assert_string_equal(prep_input_name(p, 1), "num");
    prep_free(p);
    /* In the first two rows `half` has one level, seen once, and so no information. y has two
     * values. */
    p = fitted(f, "num", first_two);
    assert_int_equal(prep_inputs(p), 1);
    assert_string_equal(prep_input_name(p, 0), "y");
    prep_free(p);
    frame_close(f);
    struct err err = { 0 };
    f = csv_frame("a,y\n1,2\n1,3\n", NULL);
    const char *const skip[] = { "y", NULL };
    const struct prep_spec spec = { .frame = f, .skip = skip };
    assert_null(prep_fit(&spec, &err));
    assert_non_null(strstr(err.text, "no column holds anything to learn from"));
    frame_close(f);
}

static void each_of_few_values_gets_its_own_bin(void **state)
{
    struct frame *f = csv_frame("x,z\n3,1\n1,2\n,3\n2,4\n10,5\n3,6\n", NULL),
                 *g = csv_frame("x,z\n1.4,0\n1.6,0\n6.4,0\n6.6,0\n-9,0\n99,0\nNA,0\n2.5,1\n", NULL);
    struct prep *p = fitted(f, NULL, NULL);
    struct prep_view *v = viewed(p, g);
    struct prep_bins b;
    const uint8_t want[] = { 0, 1, 2, 3, 0, 3, 255, 1 };

    (void)state;
    assert_int_equal(prep_bins_make(v, 0, 8, &b, NULL), 0);
    assert_int_equal(b.n_bins[0], 4);
    assert_int_equal(b.stride % 16, 0);
    for (int i = 0; i < 8; i++)
        assert_int_equal(b.bins[i * b.stride], want[i]);
    assert_true(prep_bins_cut(p, 0, 0) == 1.5f && prep_bins_cut(p, 0, 2) == 6.5f);
    prep_bins_fini(&b);
    prep_view_free(v);
    prep_free(p);
    frame_close(f);
    frame_close(g);
}

static struct frame *numbers_frame(const double *x, const double *y, int64_t n)
{
    char path[300], hash[SHA256_HEX];
    struct err err = { 0 };
    struct frame_writer *w = frame_writer_new(test_path(path, sizeof(path), "numbers"), &err);

    assert_int_equal(frame_writer_numeric(w, "x", x, n, &err), 0);
    assert_int_equal(frame_writer_numeric(w, "y", y, n, &err), 0);
    assert_int_equal(frame_writer_end(w, hash, &err), 0);
    struct frame *f = frame_open(path, &err);
    assert_non_null(f);
    return f;
}

/* Numbers and levels of each made row come from the rows that the map says. */
static void made_rows_take_each_column_from_its_row(void **state)
{
    struct frame *f = csv_frame("x,k\n1,a\n2,b\n3,a\n4,c\n1,b\n2,c\n", NULL);
    struct prep *p = fitted(f, NULL, NULL);
    struct prep_view *v = viewed(p, f);
    static const int32_t rows[] = { 3, 0, 1, 0, 5, 1 }; /* x of rows 3, 0, 1; k of rows 0, 5, 1 */
    struct prep_bins own, made;

    (void)state;
    assert_int_equal(prep_bins_make(v, 0, 6, &own, NULL), 0);
    prep_view_mix(v, rows, 3);
    assert_int_equal(prep_bins_make(v, 0, 3, &made, NULL), 0);
    for (int i = 0; i < 3; i++) {
        for (int c = 0; c < 2; c++)
            assert_int_equal(made.bins[i * made.stride + c],
                             own.bins[rows[c * 3 + i] * own.stride + c]);
    }
    assert_true(made.bins[0] != own.bins[0]);
    prep_bins_fini(&own);
    prep_bins_fini(&made);
    prep_view_free(v);
    prep_free(p);
    frame_close(f);
}

static void many_values_share_bins_of_equal_weight(void **state)
{
    enum { N = 300000 }; /* more rows than the sample from which cuts are made */
    double *x = mem_array(N, sizeof(*x)), *y = mem_array(N, sizeof(*y));
    int64_t count[256] = { 0 };
    struct prep_bins b, coarse;
    struct rng r;

    (void)state;
    rng_init(&r, 1, 0);
    for (int i = 0; i < N; i++) {
        /* every tenth row has the value 0, which fills a bin by itself */
        x[i] = i % 10 == 0 ? 0 : i % 97 == 0 ? NAN : rng_normal(&r);
        y[i] = i % 2;
    }
    struct frame *f = numbers_frame(x, y, N);
    struct prep *p = fitted(f, "y", NULL);
    struct prep_view *v = viewed(p, f);
    assert_int_equal(prep_bins_make(v, 0, N, &b, NULL), 0);
    assert_true(b.n_bins[0] >= 250 && b.n_bins[0] <= 255);
    for (int i = 0; i < N; i++) {
        uint8_t bin = b.bins[(int64_t)i * b.stride];
        count[bin]++;
        if (isnan(x[i])) {
            assert_int_equal(bin, 255);
            continue;
        }
        assert_true(bin == b.n_bins[0] - 1 || (float)x[i] <= prep_bins_cut(p, 0, bin));
        assert_true(bin == 0 || (float)x[i] > prep_bins_cut(p, 0, bin - 1));
    }
    int heavy = 0, seen = 0;
    for (int i = 0; i < b.n_bins[0]; seen += count[i++]) {
        /* bins near both ends are finer, so the lower limit holds for the middle half only */
        bool is_middle = seen > N / 4 && seen + count[i] < N - N / 4;
        heavy += count[i] > N / 20;
        assert_true(count[i] > 0 && (count[i] < N / 255 * 4 || count[i] > N / 20));
        assert_true(!is_middle || count[i] > N / 255);
    }
    assert_int_equal(heavy, 1);
    assert_int_equal(prep_bins_coarse(&b, 16, NULL, &coarse, NULL), 0);
    assert_true(coarse.n_bins[0] > 8 && coarse.n_bins[0] <= 16);
    for (int i = 0; i < N; i++) {
        uint8_t fine = b.bins[(int64_t)i * b.stride], c = coarse.bins[(int64_t)i * coarse.stride];
        assert_int_equal(fine == 255, c == 255);
        if (c != 255)
            assert_true(fine <= coarse.last[c] && (c == 0 || fine > coarse.last[c - 1]));
    }
    prep_bins_fini(&coarse);
    prep_bins_fini(&b);
    prep_view_free(v);
    prep_free(p);
    frame_close(f);
    mem_free(x);
    mem_free(y);
}

/* prep_cut, one value after another. */
static int plain_cut(const int64_t *count, int64_t n, int max_bins, int64_t *last)
{
    int64_t total = 0, rest = 0, big = 0, fill = 0;
    int n_bins = 0;

    for (int64_t i = 0; i < n; i++)
        total += count[i];
    int64_t big_from = (total + max_bins - 1) / max_bins;
    for (int64_t i = 0; i < n; i++) {
        big += count[i] >= big_from;
        rest += count[i] >= big_from ? 0 : count[i];
    }
    for (int64_t i = 0, left = max_bins - big; i < n; i++) {
        bool is_big = count[i] >= big_from, next_big = i + 1 < n && count[i + 1] >= big_from;
        fill += count[i];
        rest -= is_big ? 0 : count[i];
        bool is_full = is_big || fill * MAX(left, 1) >= rest + fill ||
                       (next_big && fill * MAX(left, 1) * 2 >= rest + fill);
        if (n > max_bins && i + 1 < n && (!is_full || n_bins == max_bins - 1))
            continue;
        last[n_bins++] = i;
        left -= !is_big;
        fill = 0;
    }
    return n_bins;
}

static void cuts_share_counts_evenly_within_the_limit_of_bins(void **state)
{
    const int64_t even[] = { 1, 1, 1, 1, 1, 1, 1, 1 }, heavy[] = { 1, 1, 100, 1, 1, 1, 1, 1 };
    int64_t last[255];

    (void)state;
    assert_int_equal(prep_cut(even, 8, 4, last), 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(last[i], 2 * i + 1);
    assert_int_equal(prep_cut(heavy, 8, 3, last), 3);
    assert_true(last[0] == 1 && last[1] == 2 && last[2] == 7);
    assert_int_equal(prep_cut(even, 8, 8, last), 8);
    assert_int_equal(prep_cut(even, 0, 8, last), 0);
    struct rng r;
    rng_init(&r, test_seed(), 0);
    /* Any counts: there is at least one bin, there are not too many, and the last bin ends at the
     * last value. */
    for (int rep = 0; rep < 3000; rep++) {
        int64_t count[600], n = 1 + rng_below(&r, 600);
        int most = 2 + (int)rng_below(&r, 254);
        for (int i = 0; i < n; i++)
            count[i] = 1 + (int64_t)floor(pow(rng_unit(&r), 8) * 10000);
        int bins = prep_cut(count, n, most, last);
        int64_t plain[600];
        assert_int_equal(plain_cut(count, n, most, plain), bins);
        assert_memory_equal(plain, last, (size_t)bins * sizeof *last);
        assert_true(bins >= 1 && bins <= most && last[bins - 1] == n - 1);
        for (int b = 1; b < bins; b++)
            assert_true(last[b] > last[b - 1]);
    }
}

/* Here every value is its own rank, so the width of a bin is its number of rows. At the quantile q
 * it must be proportional to (q (1 - q))^(1/4), and near an end to the number of rows between the
 * bin and that end. The first and last bins hold one or two rows. */
static void bins_are_finer_towards_the_ends(void **state)
{
    enum { N = 50000 };
    static double x[N];
    struct prep_col col = { .type = FRAME_NUMERIC };
    struct prep_sorter sorter;

    (void)state;
    for (int i = 0; i < N; i++)
        x[i] = (double)((int64_t)i * 7919 % N); /* each rank once, shuffled */
    assert_int_equal(prep_sorter_init(&sorter, N, NULL), 0);
    prep_cuts_fit(&col, x, N, &sorter);
    assert_in_range(col.n_bins, 250, 255);
    assert_true((double)col.median == (N - 1) / 2.0);
    int n_cuts = col.n_bins - 1;
    for (int k = 0; k < 8; k++) {
        assert_true(col.cuts[k] < 2.0f * (float)(k + 1));
        assert_true(col.cuts[n_cuts - 1 - k] > (float)(N - 1 - 2 * (k + 1)));
    }
    double widest = 0, narrowest = 99;
    for (int k = 1; k < n_cuts; k++) {
        double rank = (double)(col.cuts[k] + col.cuts[k - 1]) / 2, beyond = fmin(rank, N - rank),
               q = rank / N, want = N * fmin(pow(q * (1 - q), 0.25), 10 * beyond / N),
               width = (double)(col.cuts[k] - col.cuts[k - 1]), ratio = 255 * width / want;
        if (width > 8) {
            widest = fmax(widest, ratio);
            narrowest = fmin(narrowest, ratio);
        }
    }
    assert_true(widest < 1.25 * narrowest);
    prep_sorter_fini(&sorter);
    mem_free(col.cuts);
}

static void bins_of_levels_are_ranks_and_unknown_levels_are_missing(void **state)
{
    struct frame *f = csv_frame("c,z\nb,1\na,2\nb,3\n,4\na,5\nb,6\nc,7\n", NULL);
    struct frame *g = csv_frame("z,c\n1,a\n1,new\n1,\n1,c\n1,b\n", NULL);
    struct prep *p = fitted(f, "z", NULL);
    struct prep_view *v = viewed(p, g);
    struct prep_bins b;
    const uint8_t want[] = { 1, 255, 255, 2, 0 };

    (void)state;
    assert_int_equal(prep_bins_make(v, 0, 5, &b, NULL), 0);
    assert_true(b.is_categorical[0] && b.n_bins[0] == 3);
    for (int i = 0; i < 5; i++)
        assert_int_equal(b.bins[i * b.stride], want[i]);
    prep_bins_fini(&b);
    prep_view_free(v);
    prep_free(p);
    frame_close(f);
    frame_close(g);
}

static void rare_ones_of_many_levels_share_a_bin(void **state)
{
    struct buf text;
    struct prep_bins b, coarse;
    char hash[SHA256_HEX];

    (void)state;
    buf_init(&text, 1 << 20);
    assert_int_equal(buf_adds(&text, "c,z\n", NULL), 0);
    for (int i = 0; i < 300; i++)
        /* l000 is the most frequent level */
        for (int k = 0; k < (i < 99 ? 400 - i : 302 - i); k++)
            assert_int_equal(buf_addf(&text, NULL, "l%03d,%d\n", i, k), 0);
    struct frame *f = csv_frame_n(text.data, text.len, 0, NULL, hash);
    struct prep *p = fitted(f, "z", NULL);
    struct prep_view *v = viewed(p, f);
    assert_int_equal(prep_bins_make(v, 0, f->rows, &b, NULL), 0);
    /* a level has a bin of its own with 30 rows and a thousandth of all, 55 of 54896 here */
    int own = b.n_bins[0] - 1;
    assert_int_equal(own, 302 - f->rows / 1000);
    assert_int_equal(prep_bins_coarse(&b, 63, NULL, &coarse, NULL), 0);
    assert_int_equal(coarse.n_bins[0], 63);
    for (int64_t i = 0; i < f->rows; i++) {
        int fine = b.bins[i * b.stride];
        assert_true(fine <= own);
        assert_int_equal(coarse.bins[i * coarse.stride], fine < 62 ? fine : 62);
    }
    prep_bins_fini(&coarse);
    prep_bins_fini(&b);
    prep_view_free(v);
    prep_free(p);
    frame_close(f);
    buf_fini(&text);
}

static void dense_rows_are_imputed_and_standardised(void **state)
{
    struct buf text;
    struct prep_dense d;
    char hash[SHA256_HEX];

    (void)state;
    buf_init(&text, 1 << 20);
    assert_int_equal(buf_adds(&text, "x,c,z\n", NULL), 0);
    for (int i = 0; i < 400; i++) { /* c: A 240, B 120, r1 to r4 20, missing 20 */
        const char *c = i % 20 == 0   ? ""
                        : i % 20 == 1 ? (i < 80    ? "r1"
                                         : i < 160 ? "r2"
                                         : i < 240 ? "r3"
                                                   : "r4")
                        : i % 3       ? "A"
                                      : "B";
        assert_int_equal(i % 10 ? buf_addf(&text, NULL, "%d,%s,%d\n", i % 7, c, i)
                                : buf_addf(&text, NULL, ",%s,%d\n", c, i),
                         0);
    }
    struct frame *f = csv_frame_n(text.data, text.len, 0, NULL, hash);
    struct prep *p = fitted(f, "z", NULL);
    struct prep_view *v = viewed(p, f);
    assert_int_equal(prep_width(p), 2 + 4); /* x, x is missing; A, B, other levels, c is missing */
    assert_int_equal(prep_dense_make(v, 0, 400, &d, NULL), 0);
    assert_int_equal(d.cols, 6);
    assert_int_equal(d.stride % 16, 0);
    for (int c = 0; c < d.cols; c++) {
        double sum = 0, square = 0;
        for (int i = 0; i < 400; i++) {
            double x = (double)d.x[i * d.stride + c];
            sum += x, square += x * x;
        }
        assert_true(fabs(sum / 400) < 1e-5 && fabs(square / 400 - 1) < 1e-4);
    }
    assert_true(d.x[0] == d.x[3 * d.stride]); /* a missing x becomes the median, 3 */
    assert_true(d.x[1] > 1 && d.x[1] != d.x[d.stride + 1]);
    for (int c = d.cols; c < d.stride; c++)
        assert_true(d.x[c] == 0);
    prep_dense_fini(&d);
    prep_view_free(v);
    prep_free(p);
    frame_close(f);
    buf_fini(&text);
}

static void infinite_and_huge_values_give_finite_inputs(void **state)
{
    struct frame *f = csv_frame("x,z\n1,1\n2,2\n3,3\n", NULL),
                 *g = csv_frame("x\n1e300\n-1e300\ninf\n-inf\nNA\n", NULL);
    struct prep *p = fitted(f, "z", NULL);
    struct prep_view *v = viewed(p, g);
    struct prep_dense d;
    struct prep_bins b;
    const uint8_t want[] = { 2, 0, 2, 0, 255 };

    (void)state;
    assert_int_equal(prep_dense_make(v, 0, 5, &d, NULL), 0);
    assert_int_equal(prep_bins_make(v, 0, 5, &b, NULL), 0);
    for (int i = 0; i < 5; i++) {
        assert_true(isfinite(d.x[i * d.stride]));
        assert_int_equal(b.bins[i * b.stride], want[i]);
    }
    prep_dense_fini(&d);
    prep_bins_fini(&b);
    prep_view_free(v);
    prep_free(p);
    frame_close(f);
    frame_close(g);
}

/* Half of the numbers are beyond float32 on either side: each still has its place. */
static void numbers_of_any_size_keep_their_order(void **state)
{
    static const double sizes[] = { 1e300, 1e200, 1e100, 1e30, 1, 1e-30, 1e-100, 1e-200, 1e-300 };
    struct buf text;
    struct prep_bins b;
    char hash[SHA256_HEX];

    (void)state;
    buf_init(&text, 1 << 16);
    assert_int_equal(buf_adds(&text, "x,z\n", NULL), 0);
    for (size_t i = 0; i < 2 * ARRAY_LEN(sizes); i++) {
        size_t at = i % ARRAY_LEN(sizes);
        double x = i < ARRAY_LEN(sizes) ? -sizes[at] : sizes[ARRAY_LEN(sizes) - 1 - at];
        assert_int_equal(buf_addf(&text, NULL, "%g,%zu\n", x, i), 0);
    }
    struct frame *f = csv_frame_n(text.data, text.len, 0, NULL, hash);
    struct prep *p = fitted(f, "z", NULL);
    struct prep_view *v = viewed(p, f);
    assert_int_equal(prep_bins_make(v, 0, f->rows, &b, NULL), 0);
    for (int64_t i = 0; i < f->rows; i++)
        assert_int_equal(b.bins[i * b.stride], i);
    prep_bins_fini(&b);
    prep_view_free(v);
    prep_free(p);
    frame_close(f);
    buf_fini(&text);
}

/* One row in fifty is 10^4 times as large as the others: the others keep a spread of their own. */
static void heavy_tails_do_not_flatten_the_rest(void **state)
{
    struct buf text, saved;
    struct prep_dense d, again;
    struct rng r;
    char hash[SHA256_HEX];
    double square = 0, top = 0;

    (void)state;
    rng_init(&r, 1, 0);
    buf_init(&text, 1 << 20);
    buf_init(&saved, 1 << 20);
    assert_int_equal(buf_adds(&text, "x,z\n", NULL), 0);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(buf_addf(&text, NULL, "%g,%d\n", rng_normal(&r) * (i % 50 ? 1 : 1e4), i),
                         0);
    struct frame *f = csv_frame_n(text.data, text.len, 0, NULL, hash);
    struct prep *p = fitted(f, "z", NULL), *q;
    struct prep_view *v = viewed(p, f);
    assert_int_equal(prep_dense_make(v, 0, f->rows, &d, NULL), 0);
    for (int64_t i = 0; i < f->rows; i++) {
        double x = (double)d.x[i * d.stride];
        square += i % 50 ? x * x : 0;
        top = fmax(top, fabs(x));
    }
    assert_true(square / (double)f->rows > 0.1 && top < 20);
    assert_int_equal(prep_save(p, &saved, NULL), 0);
    struct view in = { (const uint8_t *)saved.data, saved.len, 0 };
    assert_non_null(q = prep_load(&in, NULL));
    struct prep_view *w = viewed(q, f);
    assert_int_equal(prep_dense_make(w, 0, f->rows, &again, NULL), 0);
    assert_memory_equal(d.x, again.x, (size_t)(f->rows * d.stride) * sizeof(float));
    prep_dense_fini(&again);
    prep_dense_fini(&d);
    prep_view_free(v);
    prep_view_free(w);
    prep_free(p);
    prep_free(q);
    frame_close(f);
    buf_fini(&text);
    buf_fini(&saved);
}

/* Every bin has an equal share of the places, within a bin they are linear, and past the ends they stay;
 * a loaded preparation says the same. */
static void places_share_the_range_among_the_bins(void **state)
{
    struct frame *f = csv_frame("x,z\n1,0\n1,1\n1,2\n2,3\n6,4\n1000,5\n", NULL);
    struct prep *p = fitted(f, "z", NULL), *q;
    struct prep_view *v = viewed(p, f);
    struct prep_dense d;
    struct buf saved;
    float last = -1;

    (void)state;
    buf_init(&saved, 1 << 20);
    assert_int_equal(prep_save(p, &saved, NULL), 0);
    struct view in = { (const uint8_t *)saved.data, saved.len, 0 };
    assert_non_null(q = prep_load(&in, NULL));
    assert_int_equal(prep_dense_make(v, 0, f->rows, &d, NULL), 0);
    for (int64_t i = 2; i < f->rows; i++) {
        float place = prep_dense_place(p, 0, d.x[i * d.stride]);
        assert_true(place > last && place == prep_dense_place(q, 0, d.x[i * d.stride]));
        assert_true(place >= (float)(i - 2) / 4 && place <= (float)(i - 1) / 4);
        last = place;
    }
    assert_float_equal(prep_dense_place(p, 0, -1e5F), 0, 0);
    assert_float_equal(prep_dense_place(p, 0, 1e5F), 1, 0);
    prep_dense_fini(&d);
    prep_view_free(v);
    prep_free(p);
    prep_free(q);
    frame_close(f);
    buf_fini(&saved);
}

static void errors_of_a_view_name_the_column_that_does_not_fit(void **state)
{
    struct frame *f = csv_frame("num,cat\n1,7\n2,7.0\n3,b\n4,b\n5,7\n", NULL), *g;
    struct prep *p = fitted(f, NULL, NULL);
    struct err err = { 0 };
    struct prep_bins b;

    (void)state;
    g = csv_frame("num,other\n1,2\n", NULL);
    assert_null(prep_view_new(p, g, &err));
    assert_string_equal(err.text, "column \"cat\" is missing");
    frame_close(g);
    g = csv_frame("num,cat\nabc,2\n", NULL);
    assert_null(prep_view_new(p, g, &err));
    assert_string_equal(err.text, "column \"num\" must hold numbers; found \"abc\"");
    frame_close(g);
    /* The column had text levels, now it has numbers. The number 7 matches the levels "7" and
     * "7.0", and the more frequent of them is taken. */
    g = csv_frame("num,cat\n1,7\n1,8\n1,\n", NULL);
    struct prep_view *v = viewed(p, g);
    assert_int_equal(prep_bins_make(v, 0, 3, &b, NULL), 0);
    assert_true(b.bins[1] < 2 && b.bins[b.stride + 1] == 255 && b.bins[2 * b.stride + 1] == 255);
    prep_bins_fini(&b);
    prep_view_free(v);
    frame_close(g);
    prep_free(p);
    frame_close(f);
}

static void slices_of_a_table_are_prepared_like_the_whole_table(void **state)
{
    struct buf text;
    struct prep_bins all, part;
    struct prep_dense dense, piece;
    char hash[SHA256_HEX];
    struct rng r;

    (void)state;
    rng_init(&r, 3, 0);
    buf_init(&text, 8 << 20);
    assert_int_equal(buf_adds(&text, "x,c,z\n", NULL), 0);
    for (int i = 0; i < 9000; i++)
        assert_int_equal(
            buf_addf(&text, NULL, "%.3f,k%u,%d\n", rng_normal(&r), rng_below(&r, 40), i), 0);
    struct frame *f = csv_frame_n(text.data, text.len, 0, NULL, hash);
    struct prep *p = fitted(f, "z", NULL);
    struct prep_view *v = viewed(p, f);
    assert_int_equal(prep_bins_make(v, 0, 9000, &all, NULL), 0);
    assert_int_equal(prep_dense_make(v, 0, 9000, &dense, NULL), 0);
    for (int64_t from = 0, n; from < 9000; from += n) {
        n = 1 + rng_below(&r, 2500);
        n = from + n > 9000 ? 9000 - from : n;
        assert_int_equal(prep_bins_make(v, from, n, &part, NULL), 0);
        assert_int_equal(prep_dense_make(v, from, n, &piece, NULL), 0);
        assert_memory_equal(part.bins, all.bins + from * all.stride, (size_t)(n * all.stride));
        assert_memory_equal(piece.x, dense.x + from * dense.stride,
                            (size_t)(n * dense.stride) * sizeof(float));
        prep_bins_fini(&part);
        prep_dense_fini(&piece);
    }
    prep_bins_fini(&all);
    prep_dense_fini(&dense);
    prep_view_free(v);
    prep_free(p);
    frame_close(f);
    buf_fini(&text);
}

static struct buf saved(const struct prep *p)
{
    struct buf b;

    buf_init(&b, 1 << 24);
    assert_int_equal(prep_save(p, &b, NULL), 0);
    return b;
}

static void saved_preparation_loads_unchanged_and_damaged_bytes_do_no_harm(void **state)
{
    struct frame *f = csv_frame("x,c,m,z\n1,a,1,1\n2,b,,2\n3,a,3,3\n4,b,4,4\n5,,5,5\n", NULL);
    struct prep *p = fitted(f, "z", NULL), *q;
    struct buf b = saved(p), again;
    struct rng r;

    (void)state;
    struct view in = { (const uint8_t *)b.data, b.len, 0 };
    q = prep_load(&in, NULL);
    assert_non_null(q);
    assert_int_equal(in.pos, in.len);
    again = saved(q);
    assert_int_equal(b.len, again.len);
    assert_memory_equal(b.data, again.data, b.len);
    prep_free(q);
    buf_fini(&again);
    for (size_t cut = 0; cut < b.len; cut++) {
        struct err err = { 0 };
        in = (struct view){ (const uint8_t *)b.data, cut, 0 };
        assert_null(prep_load(&in, &err));
        assert_true(err.code != ERR_NONE);
    }
    rng_init(&r, test_seed(), 0);
    for (int i = 0; i < 20000; i++) {
        uint8_t *bytes = mem_dup(b.data, b.len);
        bytes[rng_below(&r, (uint32_t)b.len)] = (uint8_t)rng_u32(&r);
        in = (struct view){ bytes, b.len, 0 };
        q = prep_load(&in, NULL);
        struct prep_view *v = q ? prep_view_new(q, f, NULL) : NULL;
        struct prep_dense d;
        struct prep_bins bins;
        if (v) {
            assert_int_equal(prep_dense_make(v, 0, 5, &d, NULL), 0);
            assert_int_equal(prep_bins_make(v, 0, 5, &bins, NULL), 0);
            prep_dense_fini(&d);
            prep_bins_fini(&bins);
        }
        prep_view_free(v);
        prep_free(q);
        mem_free(bytes);
    }
    prep_free(p);
    buf_fini(&b);
    frame_close(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_without_information_are_left_out),
        cmocka_unit_test(each_of_few_values_gets_its_own_bin),
        cmocka_unit_test(made_rows_take_each_column_from_its_row),
        cmocka_unit_test(many_values_share_bins_of_equal_weight),
        cmocka_unit_test(cuts_share_counts_evenly_within_the_limit_of_bins),
        cmocka_unit_test(bins_are_finer_towards_the_ends),
        cmocka_unit_test(bins_of_levels_are_ranks_and_unknown_levels_are_missing),
        cmocka_unit_test(rare_ones_of_many_levels_share_a_bin),
        cmocka_unit_test(dense_rows_are_imputed_and_standardised),
        cmocka_unit_test(infinite_and_huge_values_give_finite_inputs),
        cmocka_unit_test(numbers_of_any_size_keep_their_order),
        cmocka_unit_test(heavy_tails_do_not_flatten_the_rest),
        cmocka_unit_test(places_share_the_range_among_the_bins),
        cmocka_unit_test(errors_of_a_view_name_the_column_that_does_not_fit),
        cmocka_unit_test(slices_of_a_table_are_prepared_like_the_whole_table),
        cmocka_unit_test(saved_preparation_loads_unchanged_and_damaged_bytes_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
