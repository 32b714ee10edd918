/* test_11_25_page.c - opening a study loaded its whole board in pages and all of that again while it ran: 229 requests and
 * 121 MB for 100,000 trials. Now one answer holds the first sight, changes tell what came since, and columns hold the facts
 * of all trials; together they must say what the rows say, whatever became of a trial. */
#include "tests/rig.h"

#include "base/buf.h"
#include "base/jsonx.h"
#include "base/str.h"

#include <math.h>

#define SPEC \
    "{'name':'s','dataset':'d','target':'y','budget':{'trials':40},'seed':7,'scheduler':'asha'}"

static json_t *taken(int rc, struct buf *b)
{
    json_t *v = NULL;

    if (rc < 0)
        fail_msg("%s", rig_err.text);
    v = jsonx_load(b->data, b->len, "answer", &rig_err);
    if (!v)
        fail_msg("%s in %s", rig_err.text, b->data);
    buf_fini(b);
    return v;
}

static json_t *page_of(struct rig *r)
{
    struct buf b;

    buf_init(&b, 1 << 26);
    return taken(RIG_CALL(r, ctl_study_page(r->ctl, "s", 300, &b, &rig_err)), &b);
}

static json_t *changes_of(struct rig *r, int64_t after, int limit)
{
    struct buf b;

    buf_init(&b, 1 << 26);
    return taken(RIG_CALL(r, ctl_study_changes(r->ctl, "s", after, limit, &b, &rig_err)), &b);
}

static json_t *columns_of(struct rig *r, int64_t after, int limit)
{
    struct buf b;

    buf_init(&b, 1 << 26);
    return taken(RIG_CALL(r, ctl_study_columns(r->ctl, "s", after, limit, true, &b, &rig_err)), &b);
}

static json_t *some_of(struct rig *r, struct ctl_rows want)
{
    struct buf b;

    buf_init(&b, 1 << 26);
    return taken(RIG_CALL(r, ctl_study_rows(r->ctl, "s", &want, &b, &rig_err)), &b);
}

static int64_t num(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

static json_t *rows_of(json_t *o)
{
    return json_object_get(o, "rows");
}

static const char *word(const json_t *o, const char *key)
{
    return json_string_value(json_object_get(o, key));
}

static int64_t begun(struct rig *r)
{
    rig_open(r);
    rig_dataset(r, "d");
    return rig_study(r, SPEC);
}

/* ---- cases ---- */

static void the_first_answer_holds_the_study_and_every_kind_of_trial(void **state)
{
    struct rig r;
    int64_t id = begun(&r), others = 0;
    struct fake f;
    json_t *page = NULL, *row = NULL, *board = NULL, *out = NULL;
    size_t i = 0;

    (void)state;
    fake_open(&f, &r, "f", 4);
    for (int k = 0; k < 30; k++) {
        if (f.n_trials == 0 && fake_ask(&f) == 0)
            break;
        fake_step(&f, 0);
    }
    assert_int_equal(
        RIG_CALL(&r,
                 ctl_trial_kill(r.ctl, rig_get(&r, id)->trials[rig_get(&r, id)->n_trials - 1].id,
                                &out, &rig_err)),
        0);
    json_decref(out);
    page = page_of(&r);
    assert_int_equal(RIG_CALL(&r, ctl_leaderboard(r.ctl, "s", 0, 300, &board, &rig_err)), 0);
    assert_string_equal(word(json_object_get(page, "study"), "name"), "s");
    assert_non_null(json_object_get(json_object_get(page, "study"), "spec"));
    assert_int_equal(json_array_size(rows_of(page)), rig_get(&r, id)->n_trials);
    json_array_foreach(rows_of(page), i, row)
    {
        json_t *same = json_array_get(rows_of(board), i);

        if (same) {
            assert_int_equal(num(row, "rank"), i + 1);
            assert_int_equal(num(row, "trial"), num(same, "trial"));
            assert_true(
                json_equal(json_object_get(row, "config"), json_object_get(same, "config")));
            assert_true(json_real_value(json_object_get(row, "score")) ==
                        json_real_value(json_object_get(same, "score")));
            continue;
        }
        others++;
        assert_true(json_is_null(json_object_get(row, "rank")));
        assert_true(json_is_null(json_object_get(row, "score")));
        if (str_eq(word(row, "state"), "cancelled"))
            assert_string_equal(word(row, "reason"), "user");
    }
    assert_true(others > 0);
    json_decref(board);
    json_decref(page);
    rig_close(&r);
}

/* Asks until there is nothing more; how many rows came. */
static int64_t catch_up(struct rig *r, int64_t *seq, json_t **have)
{
    int64_t told = 0;

    for (bool more = true; more;) {
        json_t *c = changes_of(r, *seq, 3), *row = NULL;
        size_t i = 0;

        assert_false(json_is_true(json_object_get(c, "reset")));
        assert_true(json_array_size(rows_of(c)) <= 3);
        json_array_foreach(rows_of(c), i, row)
        {
            json_decref(have[num(row, "number")]);
            have[num(row, "number")] = json_incref(row);
            told++;
        }
        assert_true(num(c, "seq") >= *seq);
        *seq = num(c, "seq");
        more = json_is_true(json_object_get(c, "more"));
        json_decref(c);
    }
    return told;
}

static void changes_and_the_first_sight_together_are_the_whole_study(void **state)
{
    struct rig r;
    int64_t id = begun(&r), seq = 0, told = 0;
    struct fake f;
    json_t *have[41] = { NULL }, *page = NULL, *all = NULL, *row = NULL;
    size_t i = 0;

    (void)state;
    page = page_of(&r);
    seq = num(page, "seq");
    json_decref(page);
    fake_open(&f, &r, "f", 4);
    for (int k = 0; rig_get(&r, id)->row.state != SS_COMPLETED; k++) {
        assert_true(k < 2000);
        if (f.n_trials < 2)
            fake_ask(&f);
        if (f.n_trials > 0)
            fake_step(&f, k % f.n_trials);
        rig_pass(&r, 5);
        if (k == 37)
            rig_restart(&r); /* the number outlives the process */
        if (k % 7 && rig_get(&r, id)->row.state != SS_COMPLETED)
            continue;
        told += catch_up(&r, &seq, have);
    }
    all = some_of(&r, (struct ctl_rows){ .limit = 1000 });
    assert_int_equal(json_array_size(rows_of(all)), 40);
    json_array_foreach(rows_of(all), i, row)
    {
        json_t *mine = have[num(row, "number")];

        assert_non_null(mine);
        json_object_del(mine, "rank"); /* moved by others since */
        json_object_del(row, "rank");
        json_object_del(mine, "artifact"); /* told by `kept` */
        json_object_del(row, "artifact");
        if (!json_equal(mine, row))
            fail_msg("%s is not %s", jsonx_dump(mine), jsonx_dump(row));
    }
    assert_true(told < 40 * 8);
    json_decref(all);
    for (i = 0; i <= 40; i++)
        json_decref(have[i]);
    rig_close(&r);
}

static void a_number_of_another_database_asks_to_begin_anew(void **state)
{
    struct rig r;
    json_t *c = NULL;

    (void)state;
    begun(&r);
    c = changes_of(&r, 1000000, 300);
    assert_true(json_is_true(json_object_get(c, "reset")));
    assert_int_equal(json_array_size(rows_of(c)), 0);
    assert_true(num(c, "seq") < 1000000);
    json_decref(c);
    rig_close(&r);
}

static const json_t *row_find(const json_t *rows, int64_t number)
{
    const json_t *row = NULL;

    for (size_t i = 0; (row = json_array_get(rows, i)); i++) {
        if (num(row, "number") == number)
            return row;
    }
    fail_msg("there is no row of trial %d", (int)number);
    return NULL;
}

static const json_t *cell(const json_t *columns, const char *key, size_t i)
{
    return json_array_get(json_object_get(columns, key), i);
}

/* What a number of the column `key` stands for, by the list of names. */
static const char *meant(const json_t *columns, const char *key, const char *names, size_t i)
{
    return json_string_value(
        cell(columns, names, (size_t)json_integer_value(cell(columns, key, i))));
}

static void column_check(const json_t *c, size_t i, const json_t *row)
{
    double score = json_number_value(cell(c, "score", i));

    assert_int_equal(json_integer_value(cell(c, "trial", i)), num(row, "trial"));
    assert_string_equal(meant(c, "state", "states", i), word(row, "state"));
    assert_string_equal(meant(c, "family", "families", i), word(row, "family"));
    assert_string_equal(meant(c, "reason", "reasons", i), word(row, "reason"));
    assert_true(json_equal(cell(c, "config", i), json_object_get(row, "config")));
    assert_int_equal(json_integer_value(cell(c, "flags", i)) & 1,
                     !json_is_null(json_object_get(row, "rank")));
    assert_true(fabs(score - json_number_value(json_object_get(row, "reported"))) <=
                1e-9 * fabs(score));
}

static void columns_say_what_the_rows_say(void **state)
{
    struct rig r;
    int64_t id = begun(&r), at = 0;
    json_t *rows = NULL;

    (void)state;
    rig_run(&r, id, 2, 1, 0, 0);
    rows = some_of(&r, (struct ctl_rows){ .limit = 1000 });
    for (bool more = true; more;) {
        json_t *c = columns_of(&r, at, 7);

        assert_int_equal(num(c, "total"), 40);
        for (int64_t k = 0; k < num(c, "count"); k++) {
            at = num(c, "from") + k;
            column_check(c, (size_t)k, row_find(rows_of(rows), at));
        }
        more = !json_is_null(json_object_get(c, "next"));
        json_decref(c);
    }
    assert_int_equal(at, 40);
    json_decref(rows);
    rig_close(&r);
}

static void rows_are_found_by_number_state_and_rank(void **state)
{
    struct rig r;
    int64_t id = begun(&r), seen = 0, after = 0;
    json_t *a = NULL;
    struct buf text;

    (void)state;
    rig_run(&r, id, 2, 1, 0, 0);
    a = some_of(&r, (struct ctl_rows){ .numbers = "7,2", .limit = 300 });
    assert_int_equal(json_array_size(rows_of(a)), 2);
    assert_int_equal(num(json_array_get(rows_of(a), 0), "number"), 7);
    json_decref(a);
    do {
        a = some_of(&r, (struct ctl_rows){ .state = "pruned", .after = after, .limit = 4 });
        seen += (int64_t)json_array_size(rows_of(a));
        after = num(a, "next");
        json_decref(a);
    } while (after);
    assert_int_equal(seen, rig_count(&r, id, TS_PRUNED));
    a = some_of(&r, (struct ctl_rows){ .sort = "rank", .after = 2, .limit = 3 });
    assert_int_equal(num(json_array_get(rows_of(a), 0), "rank"), 3);
    json_decref(a);
    buf_init(&text, 1 << 20);
    assert_int_equal(
        RIG_CALL(&r,
                 ctl_study_rows(r.ctl, "s", (&(struct ctl_rows){ .numbers = "7,x", .limit = 300 }),
                                &text, &rig_err)),
        -1);
    assert_int_equal(rig_err.code, ERR_ARG);
    assert_string_equal(rig_err.where, "numbers");
    buf_fini(&text);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_answer_holds_the_study_and_every_kind_of_trial),
        cmocka_unit_test(changes_and_the_first_sight_together_are_the_whole_study),
        cmocka_unit_test(a_number_of_another_database_asks_to_begin_anew),
        cmocka_unit_test(columns_say_what_the_rows_say),
        cmocka_unit_test(rows_are_found_by_number_state_and_rank),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
