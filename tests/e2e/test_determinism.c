/* test_determinism.c - the same seed gives the same leaderboard and the same model file, bit for bit: with one runner, with
 * three whose every message is delayed at random, and across kill -9 of the controller and of a runner in the middle. Shown
 * with random search and with the test sampler and scheduler, whose next decision hashes the exact sequence of
 * observations, so that one result told out of order changes everything after it. */
#include "tests/unit.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "tests/e2e/ledger.h"
#include "tests/e2e/service.h"

#include <inttypes.h>

enum { TRIALS = TEST_ROUNDS(16, 10), ROWS = 120, STUDY_MS = 200000 };

struct scenario {
    const char *name;
    struct service_conf conf;
    int controller_kills, runner_kills;
};
static const struct scenario scenarios[] = {
    { "one runner", { .n_runners = 1, .devices = { 1 } }, 0, 0 },
    { "three delayed runners",
      { .n_runners = 3, .devices = { 1, 2, 1 }, .delay_ms = { 40, 90, 15 } },
      0,
      0 },
    { "restarts in the middle",
      { .n_runners = 2, .devices = { 1, 1 }, .delay_ms = { 10, 20 }, .lease_ms = 2000 },
      3,
      1 },
};
struct search {
    const char *sampler, *scheduler, *validation, *resource; /* NULL = auto */
};
struct outcome {
    char *board;
    char sha256[SHA256_HEX];
    int64_t pauses;
};

static void must(struct service *s, int rc, const struct err *err, const char *what)
{
    if (rc == 0)
        return;
    service_print_logs(s, 40);
    service_close(s, true);
    fail_msg("seed %" PRIu64 ": %s: %s (folder %s)", test_seed(), what, err->text, s->dir);
}

static int64_t ended_trials(struct client *c, int64_t study)
{
    struct err err = { 0 };
    json_t *row = NULL;
    int64_t n = 0;

    if (client_get(c, &row, &err, "/studies/%" PRId64, study) == 0) {
        const json_t *t = json_object_get(row, "trials");
        n = json_i64(t, "completed") + json_i64(t, "pruned") + json_i64(t, "failed") +
            json_i64(t, "cancelled");
    }
    json_decref(row);
    return n;
}

/* Kills at random numbers of ended trials, so that it is the middle on any machine. */
static void disturb(struct service *s, const struct scenario *sc, struct client *c, int64_t study,
                    struct err *err)
{
    int kills = sc->controller_kills + sc->runner_kills;
    int64_t at = 1, end = now_ms() + patience_ms(STUDY_MS);
    struct rng rng;

    rng_init(&rng, test_seed(), 7);
    for (int k = 0; k < kills; k++, at += 1 + rng_below(&rng, TRIALS / 4)) {
        while (ended_trials(c, study) < at && now_ms() < end)
            pause_ms(3);
        pause_ms(rng_below(&rng, 60));
        if (k < sc->controller_kills) {
            service_kill_controller(s);
            must(s, service_start_controller(s, err), err, "restart");
            must(s, service_wait(s, 60000, err), err, "restart");
        } else {
            service_kill_runner(s, 0);
            must(s, service_start_runner(s, 0, err), err, "restart of a runner");
        }
    }
}

static int64_t submit(struct service *s, struct client *c, const struct search *search,
                      struct err *err)
{
    json_t *spec =
        json_pack("{s:s, s:s, s:s, s:i, s:s, s:s, s:s, s:s, s:{s:i}, s:{s:f}}", "name", "same",
                  "dataset", "main", "target", "class", "seed", 11, "sampler", search->sampler,
                  "scheduler", search->scheduler, "validation", search->validation, "resource",
                  search->resource ? search->resource : "auto", "budget", "trials", TRIALS, "test",
                  "fraction", 0.2);
    json_t *row = NULL;
    int64_t id = 0;

    must(s, spec ? 0 : -1, err, "spec");
    must(s, client_post(c, spec, &row, err, "/studies"), err, "submit");
    id = json_i64(row, "id");
    json_decref(spec);
    json_decref(row);
    return id;
}

static void read_outcome(struct service *s, struct client *c, int64_t study, struct outcome *out,
                         struct err *err)
{
    char path[64];

    out->board = api_leaderboard_text(c, study, err);
    must(s, out->board ? 0 : -1, err, "leaderboard");
    (void)!snprintf(path, sizeof path, "/studies/%" PRId64 "/best/artifact", study);
    must(s, api_download_sha(c, path, out->sha256, err), err, "model");
}

static void run(const struct scenario *sc, const struct search *search, struct outcome *out)
{
    struct service s;
    struct err err = { 0 };
    struct service_conf conf = sc->conf;
    struct ledger *l = ledger_new();
    char table[200];
    int64_t id = 0, study = 0, start = now_ms();

    conf.seed = test_seed();
    must(&s, service_open(&s, &conf, &err), &err, "folder");
    must(&s, service_start(&s, &err), &err, "start");
    struct client *c = service_client(&s);
    must(&s, service_table(&s, "main", ROWS, 1, table, sizeof table, &err), &err, "table");
    must(&s, api_dataset(c, table, "main", 60000, &id, &err), &err, "dataset");
    study = submit(&s, c, search, &err);
    ledger_study(l, study);
    disturb(&s, sc, c, study, &err);
    must(&s, api_await_study(c, study, STUDY_MS, NULL, &err), &err, sc->name);
    read_outcome(&s, c, study, out, &err);
    must(&s, service_stop(&s, 15000, &err), &err, "stop");
    ledger_check_folder(l, s.data, true);
    if (ledger_wrong(l)) {
        err_set(&err, ERR_IO, "%s", ledger_wrong(l));
        must(&s, -1, &err, sc->name);
    }
    print_message("%s/%s, %s: %" PRId64 " ms, model %.12s\n", search->sampler, search->scheduler,
                  sc->name, now_ms() - start, out->sha256);
    client_free(c);
    ledger_free(l);
    service_close(&s, false);
}

static void all_scenarios_agree(const struct search *search)
{
    struct outcome out[ARRAY_LEN(scenarios)] = { { 0 } };

    for (size_t i = 0; i < ARRAY_LEN(scenarios); i++) {
        run(&scenarios[i], search, &out[i]);
        if (!str_eq(out[i].board, out[0].board) || !str_eq(out[i].sha256, out[0].sha256)) {
            print_error("seed %" PRIu64 ", %s:\n%s\nmodel %s\n%s:\n%s\nmodel %s\n", test_seed(),
                        scenarios[0].name, out[0].board, out[0].sha256, scenarios[i].name,
                        out[i].board, out[i].sha256);
            fail_msg("seed %" PRIu64 ": %s/%s differs: %s", test_seed(), search->sampler,
                     search->scheduler, scenarios[i].name);
        }
    }
    assert_true(strlen(out[0].board) > 1000); /* it was a study at all */
    for (size_t i = 0; i < ARRAY_LEN(scenarios); i++)
        mem_free(out[i].board);
}

static void random_search_is_the_same_on_any_runners_and_across_restarts(void **state)
{
    (void)state;
    all_scenarios_agree(&(struct search){ "random", "none", "kfold", NULL });
}

static void searchers_that_hash_what_they_see_are_the_same_too(void **state)
{
    (void)state;
    all_scenarios_agree(&(struct search){ "testhash", "testhash", "holdout", NULL });
}

/* Real ladders: trials pause with checkpoints, are promoted on any runner, and never train a level twice. */
static void halving_with_a_model_is_the_same_too(void **state)
{
    (void)state;
    all_scenarios_agree(&(struct search){ "tpe", "asha", "kfold", NULL });
}

/* And ladders of 81 levels, whose trials go on in place. */
static void synchronous_brackets_of_rounds_are_the_same_too(void **state)
{
    (void)state;
    all_scenarios_agree(&(struct search){ "tpe", "hyperband", "holdout", "rounds" });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_search_is_the_same_on_any_runners_and_across_restarts),
        cmocka_unit_test(searchers_that_hash_what_they_see_are_the_same_too),
        cmocka_unit_test(halving_with_a_model_is_the_same_too),
        cmocka_unit_test(synchronous_brackets_of_rounds_are_the_same_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
