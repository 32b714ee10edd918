/* test_11_06_damaged_study.c - found by editing rows of a data folder: one trial whose configuration no longer parsed kept the
 * controller from starting, GET /studies failed whole when one study on the page could not be loaded, and such a study could
 * not be deleted. Now it is listed as damaged with the reason, its rows can be read, it can be deleted, and everything else
 * runs. The sweep puts nonsense into every column of every row that belongs to a study. */
#include "tests/rig.h"

#include "base/fault.h"
#include "base/io.h"
#include "base/log.h"
#include "base/rng.h"
#include "base/str.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#define GOOD                                                                                 \
    "{'name':'good','dataset':'d','target':'y','budget':{'trials':4},'seed':3,'parallel':2," \
    "'sampler':'testhash','scheduler':'testhash','validation':'holdout','priority':9}"
#define PLAN                                                                                  \
    "{'name':'plan','dataset':'d','target':'y','budget':{'trials':60},'seed':3,'parallel':4," \
    "'sampler':'random','scheduler':'asha','validation':'holdout'}"
#define LIVE                                                                                  \
    "{'name':'live','dataset':'d','target':'y','budget':{'trials':60},'seed':3,'parallel':4," \
    "'sampler':'tpe','scheduler':'asha','validation':'holdout','deterministic':false}"

struct world {
    struct rig r;
    struct fake f; /* holds trials of both */
    struct buf db; /* the file as it was closed */
    char path[400];
};

static void act(struct rig *r, const char *name, enum ctl_study_verb verb)
{
    json_t *out = NULL;

    assert_int_equal(RIG_CALL(r, ctl_study_act(r->ctl, name, verb, &out, &rig_err)), 0);
    json_decref(out);
}

/* Two studies in the middle of their work, paused, and one that waits. */
static void world_open(struct world *w)
{
    struct rig *r = &w->r;

    rig_open(r);
    rig_dataset(r, "d");
    rig_study(r, PLAN);
    rig_study(r, LIVE);
    fake_open(&w->f, r, "one", 8);
    for (int i = 0; i < 40; i++) {
        fake_ask(&w->f);
        for (int k = w->f.n_trials - 1; k >= 0 && i < 36; k--) {
            if ((i + k) % 3 > 0)
                fake_step(&w->f, k);
        }
        rig_pass(r, 10);
    }
    assert_true(w->f.n_trials > 1);
    act(r, "plan", CTL_PAUSE);
    act(r, "live", CTL_PAUSE);
    rig_study(r, GOOD);
    ctl_stop(r->ctl);
    rig_turn(r);
    ctl_free(r->ctl);
    r->ctl = NULL;
    assert_true(snprintf(w->path, sizeof w->path, "%s/assay.db", r->dir) > 0);
    assert_int_equal(io_read_file(w->path, 64 << 20, &w->db, NULL), 0);
}

static void world_close(struct world *w)
{
    ctl_free(w->r.ctl);
    buf_fini(&w->db);
    assert_int_equal(io_remove_tree(w->r.dir, NULL), 0);
}

/* The data folder as it was, with this done to it: false = it changed nothing. */
static bool world_again(struct world *w, const char *sql)
{
    sqlite3 *db = NULL;
    char wal[420];
    int rc = 0, n = 0;

    ctl_free(w->r.ctl);
    w->r.ctl = NULL;
    (void)snprintf(wal, sizeof wal, "%s-wal", w->path);
    (void)unlink(wal);
    assert_int_equal(io_replace(w->path, w->db.data, w->db.len, 0600, NULL), 0);
    assert_int_equal(sqlite3_open(w->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA ignore_check_constraints = ON", NULL, NULL, NULL),
                     SQLITE_OK);
    rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    n = sqlite3_changes(db);
    sqlite3_close(db);
    if (rc != SQLITE_OK || n == 0)
        return false; /* no value of that type goes there */
    w->r.ctl = ctl_new(&w->r.conf, &w->r.clk, NULL, &rig_err);
    if (!w->r.ctl)
        fail_msg("%s: no start: %s", sql, rig_err.text);
    return true;
}

static json_t *get(struct rig *r, const char *name)
{
    json_t *out = NULL;

    if (RIG_CALL(r, ctl_study_get(r->ctl, name, &out, &rig_err)) < 0)
        return NULL;
    return out;
}

static bool is_state(const json_t *study, const char *state)
{
    return str_eq(json_string_value(json_object_get(study, "state")), state);
}

/* The list shows all three, and a runner can work for the one that is well. */
static void check_the_others_run(struct world *w, const char *sql)
{
    struct rig *r = &w->r;
    struct fake f;
    struct msg_event e;
    struct msg_answer a;
    json_t *list = NULL, *study = NULL;
    int steps = 0;

    if (RIG_CALL(r, ctl_studies(r->ctl, NULL, true, 0, 100, &list, &rig_err)) < 0)
        fail_msg("%s: list: %s", sql, rig_err.text);
    assert_int_equal(json_array_size(json_object_get(list, "studies")), 3);
    json_decref(list);
    w->f.rig = r;
    for (int i = 0; i < w->f.n_trials;
         i++) { /* what its trials say is applied, or stale: never an error */
        fake_event(&w->f, i, &e);
        if (fake_report(&w->f, &e, 1, &a) < 0)
            fail_msg("%s: report: %s", sql, rig_err.text);
        msg_answer_fini(&a);
    }
    fake_open(&f, r, "two", 2);
    for (study = get(r, "good"); study && !is_state(study, "completed"); study = get(r, "good")) {
        json_decref(study);
        fake_ask(&f);
        for (int i = f.n_trials - 1; i >= 0; i--)
            fake_step(&f, i);
        rig_pass(r, 100);
        if (++steps > 300)
            fail_msg("%s: the good study does not end", sql);
    }
    assert_non_null(study);
    json_decref(study);
}

/* It is shown, its rows can be had, and it goes when it is told to. */
static bool check_it_can_be_removed(struct world *w, const char *name, int64_t id, const char *sql)
{
    struct rig *r = &w->r;
    char ref[24];
    bool was_damaged = false;
    json_t *out = NULL;

    (void)snprintf(ref, sizeof ref, "%lld", (long long)id);
    for (int i = 0; i < 4; i++) {
        json_t *study = get(r, ref);

        if (!study) { /* its own id was changed */
            assert_int_equal(rig_err.code, ERR_NOTFOUND);
            return true;
        }
        was_damaged = was_damaged || is_state(study, "damaged");
        if (is_state(study, "damaged"))
            assert_non_null(json_string_value(json_object_get(study, "reason")));
        json_decref(study);
        assert_int_equal(RIG_CALL(r, ctl_study_dump(r->ctl, ref, 0, 1000, &out, &rig_err)), 0);
        json_decref(out);
        if (RIG_CALL(r, ctl_study_delete(r->ctl, ref, &rig_err)) == 0) {
            assert_null(get(r, ref));
            return was_damaged;
        }
        if (RIG_CALL(r, ctl_study_act(r->ctl, ref, CTL_KILL, &out, &rig_err)) == 0)
            json_decref(out);
    }
    fail_msg("%s: %s cannot be deleted: %s", sql, name, rig_err.text);
    return false;
}

static void one_unreadable_configuration_stops_nothing(void **state)
{
    static const char *const names[] = { "plan", "live" };
    struct world w;
    json_t *study = NULL, *dump = NULL, *out = NULL;
    char sql[200];

    (void)state;
    world_open(&w);
    for (int i = 0; i < 2; i++) {
        (void)snprintf(sql, sizeof sql,
                       "UPDATE trial SET config = '{\"family\":' WHERE study = %d AND number = 2",
                       i + 1);
        assert_true(world_again(&w, sql));
        assert_int_equal(w.r.ctl->n_damages, 1);
        study = get(&w.r, names[i]);
        assert_true(is_state(study, "damaged"));
        assert_non_null(strstr(json_string_value(json_object_get(study, "reason")), "config"));
        assert_string_equal(json_string_value(json_object_get(study, "stored_state")), "paused");
        json_decref(study);

        assert_int_equal(
            RIG_CALL(&w.r, ctl_study_dump(w.r.ctl, names[i], 0, 1000, &dump, &rig_err)), 0);
        const json_t *trial = json_array_get(json_object_get(dump, "trials"), 1);
        assert_string_equal(json_string_value(json_object_get(trial, "config")), "{\"family\":");
        assert_true(json_array_size(json_object_get(trial, "attempts")) > 0);
        json_decref(dump);

        assert_int_equal(
            RIG_CALL(&w.r, ctl_study_act(w.r.ctl, names[i], CTL_RESUME, &out, &rig_err)), -1);
        assert_int_equal(rig_err.code, ERR_CONFLICT);
        assert_non_null(strstr(rig_err.text, "damaged"));
        assert_int_equal(
            RIG_CALL(&w.r, ctl_studies(w.r.ctl, "damaged", true, 0, 10, &out, &rig_err)), 0);
        assert_int_equal(json_array_size(json_object_get(out, "studies")), 1);
        json_decref(out);
        check_the_others_run(&w, sql);
        assert_true(check_it_can_be_removed(&w, names[i], i + 1, sql));
    }
    world_close(&w);
}

struct column_list {
    char name[200][40];
    int n;
};

static int on_column(void *arg, int n, char **values, char **names)
{
    struct column_list *l = arg;

    (void)n, (void)names;
    assert_true(l->n < 200);
    str_copy(l->name[l->n++], sizeof l->name[0], values[1]);
    return 0;
}

static void nonsense_in_any_column_stops_nothing(void **state)
{
    static const struct {
        const char *table, *row, *end; /* the study's id stands between the two */
    } rows[] = {
        { "study", "id = ", "" },
        { "trial", "study = ", " AND number = 3" },
        { "trial", "study = ", " AND state = 'running'" },
        { "trial", "study = ", " AND state = 'paused'" },
        { "attempt", "trial IN (SELECT id FROM trial WHERE study = ", ")" },
        { "report", "trial IN (SELECT id FROM trial WHERE study = ", ")" },
        { "journal", "study = ", "" },
    };
    static const char *const values[] = {
        "'rubbish'",
        "'{}'",
        "'{\"family\":'",
        "CAST(x'ff80fe' AS TEXT)",
        "''",
        "NULL",
        "0",
        "-1",
        "1",
        "999",
        "9007199254740993",
        "1e308",
    };
    struct world w;
    struct rng rng;
    int done = 0, damaged = 0;

    (void)state;
    world_open(&w);
    rng_init(&rng, test_seed(), 6);
    for (size_t t = 0; t < ARRAY_LEN(rows); t++) {
        struct column_list columns = { 0 };
        sqlite3 *db = NULL;
        char sql[500];

        assert_int_equal(sqlite3_open(w.path, &db), SQLITE_OK);
        (void)snprintf(sql, sizeof sql, "PRAGMA table_info(%s)", rows[t].table);
        assert_int_equal(sqlite3_exec(db, sql, on_column, &columns, NULL), SQLITE_OK);
        sqlite3_close(db);
        for (int c = 0; c < columns.n; c++) {
            for (int k = 0; k < TEST_ROUNDS(2, 1); k++) {
                int id = 1 + (int)rng_below(&rng, 2);
                (void)snprintf(sql, sizeof sql, "UPDATE OR IGNORE %s SET %s = %s WHERE %s%d%s",
                               rows[t].table, columns.name[c],
                               values[rng_below(&rng, ARRAY_LEN(values))], rows[t].row, id,
                               rows[t].end);
                if (!world_again(&w, sql))
                    continue;
                check_the_others_run(&w, sql);
                damaged += check_it_can_be_removed(&w, id == 1 ? "plan" : "live", id, sql);
                done++;
            }
        }
    }
    print_message("%d changes, %d of them made the study damaged\n", done, damaged);
    assert_true(done > 50 && damaged > 5);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_unreadable_configuration_stops_nothing),
        cmocka_unit_test(nonsense_in_any_column_stops_nothing),
    };

    log_to_fd(open("/dev/null", O_WRONLY | O_CLOEXEC)); /* the errors are wanted */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
