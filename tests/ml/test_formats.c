/* test_formats.c - files that pyarrow, pandas, fastparquet, Polars and DuckDB wrote, in every type, encoding and codec that they
 * offer, compared cell by cell with the same table as CSV. Skipped unless `make formats-peers` has installed them; a
 * folder with the files may be given as ASSAY_FORMATS instead. */
#include "tests/ml/csv_rig.h"

#include "base/gz.h"
#include "ml/read/read.h"

#include <dirent.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#define PYTHON "build/formats/bin/python"

/* The folder with the files; NULL = there is none, and none can be made. */
static const char *folder(void)
{
    static char made[512];
    char command[1200];
    const char *given = getenv("ASSAY_FORMATS");

    if (given)
        return given;
    if (access(PYTHON, X_OK) < 0)
        return NULL;
    test_path(made, sizeof(made), "formats");
    (void)mkdir(made, 0700);
    (void)snprintf(command, sizeof(command), PYTHON " -W ignore tests/ml/formats/make_files.py %s",
                   made);
    if (system(command) != 0) /* NOLINT(cert-env33-c): a test */
        fail_msg("%s failed", command);
    return made;
}

static int read_file(const char *file, const struct csv_opts *more, const char *out,
                     struct err *err)
{
    char hash[SHA256_HEX];
    struct gz *g = gz_open(file, err);
    struct csv_opts opts = more ? *more : (struct csv_opts){ 0 };

    assert_non_null(g);
    opts.name = strrchr(file, '/') + 1;
    opts.file_bytes = gz_plain_bytes(g);
    opts.read_at = opts.file_bytes >= 0 ? gz_read_at : NULL;
    int rc = table_to_frame(gz_source, g, &opts, out, hash, err);
    gz_close(g);
    return rc;
}

static struct frame *open_file(const char *file, const char *out, const struct csv_opts *opts)
{
    struct err err = { 0 };

    if (read_file(file, opts, out, &err) < 0) {
        print_message("%s\n", err.text);
        return NULL;
    }
    struct frame *f = frame_open(out, &err);
    if (!f)
        fail_msg("%s: %s", file, err.text);
    unlink(out);
    return f;
}

static bool same_number(const char *col, double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    if (col[0] == 'f' && (col[1] == '3' || col[1] == '1'))
        return (float)a == (float)b;
    return a == b;
}

static int compare_column(const char *file, const struct frame *a, const struct frame *b, int c)
{
    const struct frame_col *col = &a->cols[c];
    int other = frame_find(b, col->name), bad = 0;

    if (other < 0 || b->cols[other].type != col->type || b->cols[other].missing != col->missing) {
        print_message("%s: column %s: type %d, %lld missing; in CSV type %d, %lld missing\n", file,
                      col->name, other < 0 ? -1 : (int)b->cols[other].type,
                      other < 0 ? -1 : (long long)b->cols[other].missing, (int)col->type,
                      (long long)col->missing);
        return 1;
    }
    if (strncmp(file, "iso", 3) == 0 && b->cols[other].kind != col->kind) {
        print_message("%s: column %s: kind %d, in CSV %d\n", file, col->name, b->cols[other].kind,
                      col->kind);
        bad++;
    }
    for (int64_t i = 0; i < a->rows && bad < 3; i++) {
        bool is_number = col->type == FRAME_NUMERIC;
        double x = is_number ? cell_number(a, col->name, i) : 0;
        double y = is_number ? cell_number(b, col->name, i) : 0;
        if (is_number ? same_number(col->name, x, y)
                      : strcmp(cell_text(a, col->name, i), cell_text(b, col->name, i)) == 0)
            continue;
        if (is_number)
            print_message("%s: column %s, row %lld: %.17g, in CSV %.17g\n", file, col->name,
                          (long long)i, y, x);
        else
            print_message("%s: column %s, row %lld: \"%s\", in CSV \"%s\"\n", file, col->name,
                          (long long)i, cell_text(b, col->name, i), cell_text(a, col->name, i));
        bad++;
    }
    return bad;
}

/* Returns how many cells differ, at most three a column. */
static int compare(const char *dir, const char *name)
{
    char file[1100], csv[1100], out[512];
    const char *end = strstr(name, "--");
    int bad = 0;

    (void)snprintf(file, sizeof(file), "%s/%s", dir, name);
    (void)snprintf(csv, sizeof(csv), "%s/%.*s.csv", dir, (int)(end - name), name);
    test_path(out, sizeof(out), "formats.frame");
    struct frame *want = open_file(csv, out, NULL), *got = open_file(file, out, NULL);
    int ignored = 0;
    if (!want || !got) {
        frame_close(want);
        frame_close(got);
        return 1;
    }
    for (int c = 0; c < got->n_cols; c++)
        ignored += got->cols[c].type == FRAME_IGNORED;
    if (want->rows != got->rows || want->n_cols != got->n_cols - ignored) {
        print_message("%s: %lld rows of %d columns\n", file, (long long)got->rows, got->n_cols);
        bad = 1;
    }
    for (int c = 0; c < want->n_cols && !bad; c++)
        bad += compare_column(name, want, got, c);
    frame_close(want);
    frame_close(got);
    return bad;
}

static bool ends(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);

    return n >= m && strcmp(s + n - m, end) == 0;
}

static void files_of_others_hold_the_same_table_as_their_csv(void **state)
{
    const char *dir = folder();
    int bad = 0, files = 0;
    struct dirent *e;

    (void)state;
    if (!dir) {
        print_message("skipped: run `make formats-peers` first\n");
        skip();
    }
    DIR *d = opendir(dir);
    assert_non_null(d);
    while ((e = readdir(d)) != NULL) {
        if (!strstr(e->d_name, "--") || ends(e->d_name, ".refused"))
            continue;
        files++;
        bad += compare(dir, e->d_name) > 0;
    }
    closedir(d);
    print_message("%d files, %d differ\n", files, bad);
    assert_int_equal(bad, 0);
    assert_true(files > 50);
}

static void nested_columns_are_refused_by_name_unless_ignored(void **state)
{
    static const char *const files[] = { "nested--pa.parquet.refused", "nested--pa.feather.refused",
                                         "nested--polars.arrow.refused" };
    static const struct csv_override over[] = { { .name = "tags", .type = FRAME_IGNORED },
                                                { .name = "where", .type = FRAME_IGNORED } };
    const struct csv_opts opts = { .overrides = over, .n_overrides = 2 };
    const char *dir = getenv("ASSAY_FORMATS");
    char file[1100], out[512], made[512];

    (void)state;
    if (!dir)
        dir = test_path(made, sizeof(made), "formats");
    test_path(out, sizeof(out), "nested.frame");
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        struct err err = { 0 };
        (void)snprintf(file, sizeof(file), "%s/%s", dir, files[i]);
        if (access(file, R_OK) < 0) {
            print_message("skipped: run `make formats-peers` first\n");
            skip();
        }
        assert_int_equal(read_file(file, NULL, out, &err), -1);
        if (!strstr(err.text, "column \"tags\" is a list"))
            fail_msg("%s", err.text);
        struct frame *f = open_file(file, out, &opts);
        assert_int_equal(f->rows, 2);
        assert_true(cell_number(f, "a", 1) == 2);
        assert_string_equal(cell_text(f, "b", 1), "q");
        frame_close(f);
    }
    struct err err = { 0 };
    (void)snprintf(file, sizeof(file), "%s/brotli--pa.parquet.refused", dir);
    assert_int_equal(read_file(file, NULL, out, &err), -1);
    assert_non_null(strstr(err.text, "column \"a\", row group 1: packed with Brotli"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_others_hold_the_same_table_as_their_csv),
        cmocka_unit_test(nested_columns_are_refused_by_name_unless_ignored),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
