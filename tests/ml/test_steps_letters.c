/* test_steps_letters.c - columns of words of which hardly one repeats: their letters, their shape and
 * their places are read where they say something of the target, and nothing is read of random ones. */
#include "tests/ml/csv_rig.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/prep/prep.h"

#include <string.h>

enum { ROWS = 3000 };

static const char letters[] = "abcdefghijklmnopqrstuvwxyz";

static void put_random(struct buf *out, struct rng *rng, int n)
{
    for (int i = 0; i < n; i++)
        assert_int_equal(buf_addf(out, NULL, "%c", letters[rng_below(rng, 26)]), 0);
}

/* Made of words, or of random letters. */
static double domain(struct buf *out, struct rng *rng)
{
    static const char *const words[] = { "gold", "bank", "shop", "news", "blue", "cloud", "home",
                                         "data", "food", "game", "mail", "book", "star",  "sun" };
    bool is_random = rng_below(rng, 2);

    if (is_random)
        put_random(out, rng, 8 + (int)rng_below(rng, 5));
    for (int i = 0; i < 3 && !is_random; i++)
        assert_int_equal(buf_addf(out, NULL, "%s", words[rng_below(rng, 14)]), 0);
    assert_int_equal(buf_addf(out, NULL, "%d.com", (int)rng_below(rng, 99)), 0);
    return 2 * is_random;
}

static double length(struct buf *out, struct rng *rng)
{
    int n = 4 + (int)rng_below(rng, 12);

    put_random(out, rng, n);
    return n / 4.0;
}

/* The sign at the fifth place matters. */
static double place(struct buf *out, struct rng *rng)
{
    int at = (int)rng_below(rng, 26);

    put_random(out, rng, 4);
    assert_int_equal(buf_addf(out, NULL, "%c", letters[at]), 0);
    put_random(out, rng, 6);
    return at / 8.0;
}

static double nothing(struct buf *out, struct rng *rng)
{
    put_random(out, rng, 8);
    return 0;
}

static const struct kind {
    double (*put)(struct buf *out, struct rng *rng);
    const char *input; /* NULL = the column gives no input */
} kinds[] = {
    { domain, "cell: score of words" },
    { length, "cell: characters" },
    { place, "cell: sign 5: " },
    { nothing, NULL },
};

static void check(const struct kind *kind, int classes)
{
    static const char *const labels[] = { "a", "b", "c" };
    static double y[ROWS];
    static uint8_t part[ROWS];
    struct err err = { 0 };
    struct rng rng;
    struct buf b;
    int found = 0, of_cell = 0;

    rng_init(&rng, 5, 0);
    buf_init(&b, 1 << 20);
    assert_int_equal(buf_adds(&b, "cell,x\n", NULL), 0);
    for (int i = 0; i < ROWS; i++) {
        y[i] = kind->put(&b, &rng) + rng_normal(&rng) / 2;
        if (classes)
            y[i] = y[i] < 0.5 ? 0 : y[i] < 1.5 ? 1 : 2;
        part[i] = (uint8_t)rng_below(&rng, PREP_PARTS);
        assert_int_equal(buf_addf(&b, NULL, ",%.4f\n", rng_normal(&rng)), 0);
    }
    struct frame *f = csv_frame(b.data, NULL);
    buf_fini(&b);
    const struct prep_target t = { .y = y, .part = part, .n_classes = classes, .classes = labels };
    struct prep *p = prep_fit(&(struct prep_spec){ .frame = f, .target = &t }, &err);
    if (!p)
        fail_msg("%s", err.text);
    for (int i = 0; i < prep_inputs(p); i++) {
        const char *name = prep_input_name(p, i);
        of_cell += strncmp(name, "cell", 4) == 0;
        found += kind->input && strncmp(name, kind->input, strlen(kind->input)) == 0;
    }
    for (int i = 0; i < prep_inputs(p) && kind->input && !found; i++)
        print_message("%s\n", prep_input_name(p, i));
    if (kind->input ? !found : of_cell)
        fail_msg("%d inputs of the column, %d \"%s\"", of_cell, found,
                 kind->input ? kind->input : "");
    prep_free(p);
    frame_close(f);
}

static void letters_are_read_where_they_matter(void **state)
{
    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
        check(&kinds[k], 0);
}

static void letters_are_read_for_classes(void **state)
{
    (void)state;
    check(&kinds[0], 3);
    check(&kinds[1], 3);
    check(&kinds[2], 3);
    check(&kinds[3], 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(letters_are_read_where_they_matter),
        cmocka_unit_test(letters_are_read_for_classes),
    };

    return cmocka_run_group_tests_name("steps_letters", tests, NULL, NULL);
}
