/* test_decide.c - decisions without a database. A study is built in memory, decide_next is asked what follows, its actions
 * are read as data and carried out by hand, as far as a decision can see them. Live studies are asked in the order in which
 * results arrive, deterministic ones by their virtual clock. */
#include "tests/unit.h"

#include "base/clk.h"
#include "base/mem.h"
#include "controller/decide/decide.h"
#include "controller/decide/live.h"
#include "controller/decide/plan.h"
#include "controller/decide/propose.h"
#include "controller/decide/searchers.h"
#include "controller/problem/ladder.h"
#include "controller/state/rows.h"
#include "controller/state/trial.h"

#include <math.h>

struct bench {
    struct clk clk;
    struct ctl ctl;
    struct study *st;
    struct study_sheet sheet;
    struct actions out;
};

static json_t *text(const char *s)
{
    json_t *v = json_loads(s, 0, NULL);

    assert_non_null(v);
    return v;
}

/* A table of 1,000 rows and 5 columns, two classes, a holdout; `spec` says the rest. */
static void open_bench(struct bench *b, const char *spec)
{
    struct err err = { 0 };
    json_t *json = text(spec);
    struct study *st = NULL;

    *b = (struct bench){ 0 };
    clk_init_manual(&b->clk, 1000, 1000);
    b->ctl.clk = &b->clk;
    b->ctl.conf.max_trials = 1000;
    b->ctl.in_request = true;
    st = b->st = study_new(&b->ctl);
    assert_int_equal(spec_parse(&st->spec, json, &err), 0);
    json_decref(json);
    st->is_deterministic = spec_is_deterministic(&st->spec);
    st->row.id = 1;
    st->row.state = SS_RUNNING;
    st->sheet = &b->sheet;
    for (int i = 0; i < SHEET_TRIALS; i++) {
        for (int l = 0; l < SHEET_LEVELS; l++)
            b->sheet.reports[i][l] = NAN;
    }
    st->problem = (struct problem){ .is_ready = true,
                                    .task = FT_BINARY,
                                    .metric = metric_find("auc"),
                                    .kfolds = 5,
                                    .data = { .folds = 5, .holdout = true, .rows = 1000 },
                                    .shape = { .rows = 1000,
                                               .columns = 5,
                                               .encoded = 5,
                                               .outputs = 1,
                                               .folds = 1,
                                               .task = FT_BINARY } };
    assert_int_equal(study_space_load(st, &err), 0);
    searchers_choose(st);
    search_open(st);
    assert_int_equal(propose_open(st, &err), 0);
    if (st->is_deterministic)
        plan_init(st);
}

static void close_bench(struct bench *b)
{
    propose_close(b->st);
    study_delete(b->st);
    actions_fini(&b->out);
}

/* ---- carrying out: what a decision sees of it ---- */

static void note(struct bench *b, int64_t number, enum trial_state state, int level, int run_to,
                 double score)
{
    const struct config *c = &b->sheet.configs[number - 1];
    struct trial_row row = { .id = number, .number = number, .state = state, .level = level };

    row.family = row.shape_key = (char *)c->family->name;
    row.max_level = ladder_levels(&b->st->problem, c->family);
    row.run_to = run_to;
    row.score = score;
    trial_note(b->st, &row);
}

static void created(struct bench *b, const struct action *a)
{
    int64_t number = b->st->n_trials + 1;

    assert_true(number <= SHEET_TRIALS);
    b->sheet.configs[number - 1] = a->config;
    note(b, number, TS_QUEUED, 0, a->to, NAN);
    trial_mem(b->st, number)->source = (uint8_t)a->source;
    trial_mem(b->st, number)->config = config_hash_of(&a->config);
}

static void ended(struct bench *b, int64_t number, enum trial_state state, double score)
{
    int level = state == TS_COMPLETED ? trial_mem(b->st, number)->max_level
                                      : trial_mem(b->st, number)->level;

    note(b, number, state, level, trial_mem(b->st, number)->run_to, score);
    study_happened(b->st, (struct happening){ .kind = TRIAL_ENDED,
                                              .number = number,
                                              .state = state,
                                              .level = level,
                                              .score = score });
}

/* Asks what follows until nothing does; how many actions of this kind came. */
static int follow(struct bench *b, enum action_kind kind)
{
    struct err err = { 0 };
    int n = 0, rc = 0;

    while ((rc = decide_next(b->st, &b->out, &err)) == 1) {
        for (int i = 0; i < b->out.n; i++) {
            const struct action *a = &b->out.list[i];

            n += a->kind == kind;
            if (a->kind == ACT_CREATE)
                created(b, a);
            if (a->kind == ACT_RUN_TO)
                note(b, a->number, TS_QUEUED, trial_mem(b->st, a->number)->level, a->to, NAN);
            if (a->kind == ACT_END)
                ended(b, a->number, TS_PRUNED, NAN);
            if (a->kind == ACT_FINISH)
                b->st->row.state = SS_FINISHING;
            if (a->kind == ACT_FINISH || a->kind == ACT_CLOSE) {
                b->out.n = 0;
                return n;
            }
        }
        b->out.n = 0;
    }
    assert_int_equal(rc, 0);
    return n;
}

#define LIVE                                                                                   \
    "{\"dataset\":\"d\",\"target\":\"y\",\"budget\":{\"time\":\"60s\",\"trials\":4},"          \
    "\"validation\":\"holdout\",\"parallel\":2,\"sampler\":\"random\",\"scheduler\":\"none\"," \
    "\"space\":[{\"family\":\"boost\"}],\"seed\":7}"
#define PLAN                                                                                    \
    "{\"dataset\":\"d\",\"target\":\"y\",\"budget\":{\"trials\":4},\"validation\":\"holdout\"," \
    "\"parallel\":2,\"sampler\":\"random\",\"scheduler\":\"none\","                             \
    "\"space\":[{\"family\":\"boost\"}],\"seed\":7}"

/* ---- live ---- */

static int fill(struct bench *b, int want)
{
    struct err err = { 0 };
    int n = 0;

    while (live_fill(b->st, want, &b->out, &err) == 1) {
        for (int i = 0; i < b->out.n; i++) {
            assert_int_equal(b->out.list[i].kind, ACT_CREATE);
            created(b, &b->out.list[i]);
            n++;
        }
        b->out.n = 0;
    }
    return n;
}

static void a_live_study_makes_trials_when_somebody_asks(void **state)
{
    struct bench b;

    (void)state;
    open_bench(&b, LIVE);
    assert_int_equal(follow(&b, ACT_CREATE), 0); /* nobody has asked for work */
    assert_int_equal(fill(&b, 1), 1);
    assert_string_equal(b.sheet.configs[0].family->name, "baseline");
    assert_int_equal(fill(&b, 8), 1); /* two at once, as the spec says */
    assert_int_equal(fill(&b, 8), 0);
    close_bench(&b);
}

static void a_live_study_ends_when_its_trials_are_used(void **state)
{
    struct bench b;

    (void)state;
    open_bench(&b, LIVE);
    for (int64_t k = 1; k <= 4; k++) {
        assert_int_equal(fill(&b, 1), 1);
        assert_int_equal(follow(&b, ACT_FINISH), 0); /* one is open */
        ended(&b, k, TS_COMPLETED, 0.5 + 0.1 * (double)k);
    }
    assert_int_equal(fill(&b, 1), 0);
    assert_int_equal(follow(&b, ACT_FINISH), 1);
    assert_int_equal(b.st->n_happened, 0); /* everything was heard */
    close_bench(&b);
}

static void a_live_study_ends_at_its_score(void **state)
{
    struct bench b;

    (void)state;
    open_bench(&b, LIVE);
    b.st->spec.has_stop_score = true;
    b.st->spec.stop_score = 0.9;
    assert_int_equal(fill(&b, 2), 2);
    ended(&b, 2, TS_COMPLETED, 0.95);
    assert_int_equal(follow(&b, ACT_FINISH), 1); /* trial 1 is still open, and is cut */
    close_bench(&b);
}

/* ---- plan ---- */

static void a_plan_fills_its_workers_by_itself(void **state)
{
    struct bench b;

    (void)state;
    open_bench(&b, PLAN);
    assert_int_equal(follow(&b, ACT_CREATE), 2);
    assert_int_equal(follow(&b, ACT_CREATE), 0); /* until a result is known */
    close_bench(&b);
}

/* Trial 2's result is there first, but the virtual clock meets trial 1, the cheap baseline, before it. */
static void a_plan_takes_results_by_its_clock(void **state)
{
    struct bench b;

    (void)state;
    open_bench(&b, PLAN);
    assert_int_equal(follow(&b, ACT_CREATE), 2);
    ended(&b, 2, TS_COMPLETED, 0.8);
    assert_int_equal(follow(&b, ACT_CREATE), 0);
    ended(&b, 1, TS_COMPLETED, 0.5);
    assert_int_equal(follow(&b, ACT_CREATE), 2); /* both are taken now */
    ended(&b, 3, TS_COMPLETED, 0.7);
    ended(&b, 4, TS_FAILED, NAN);
    assert_int_equal(follow(&b, ACT_FINISH), 1);
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_live_study_makes_trials_when_somebody_asks),
        cmocka_unit_test(a_live_study_ends_when_its_trials_are_used),
        cmocka_unit_test(a_live_study_ends_at_its_score),
        cmocka_unit_test(a_plan_fills_its_workers_by_itself),
        cmocka_unit_test(a_plan_takes_results_by_its_clock),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
