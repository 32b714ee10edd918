/* test_slurm.c - the file of pools, what becomes of it for Slurm's commands, and what is read from
 * their answers. */
#include "tests/unit.h"

#include "controller/pool/slurm.h"

#include "base/base.h"
#include "base/mem.h"

static int parse(struct pools_conf *c, const char *text, struct err *err)
{
    return pools_conf_parse(c, text, strlen(text), "pools.yaml", err);
}

#define POOL "pools: [{name: a, controller: 'http://h:1'"

static void a_wrong_file_is_refused_by_its_place(void **state)
{
    static const struct {
        const char *text, *where, *says;
    } cases[] = {
        { "pools: [{controller: x}]", "pools[0].name", "" },
        { POOL ", min: 2, max: 1}]", "pools[0].min", "more than max" },
        { POOL ", partiton: x}]", "pools[0].partiton", "partition" },
        { POOL ", time: 10}]", "pools[0].time", "" },
        { POOL ", time: 5m, drain: 3m}]", "pools[0].drain", "half" },
        { POOL ", memory: 1KiB}]", "pools[0].memory", "64MiB" },
        { POOL ", gpu_type: h200}]", "pools[0].gpu_type", "gpus" },
        { POOL ", options: [qos]}]", "pools[0].options[0]", "no option" },
        { POOL ", runner: [\"--a\\nb\"]}]", "pools[0].runner[0]", "one line" },
        { POOL ", program: \"a\\tb\"}]", "pools[0].program", "control" },
        { POOL "}, {name: a, controller: x}]", "pools[1].name", "two pools" },
        { POOL "}]\nmax: 3", "max", "" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct pools_conf c;
        struct err err = { 0 };

        if (parse(&c, cases[i].text, &err) == 0 || strcmp(err.where, cases[i].where) != 0 ||
            !strstr(err.text, cases[i].says))
            fail_msg("%s: at \"%s\": %s", cases[i].text, err.where, err.text);
        pools_conf_fini(&c);
    }
}

static bool has(const struct slurm_command *c, const char *arg)
{
    for (int i = 0; i < c->argc; i++) {
        if (strcmp(c->argv[i], arg) == 0)
            return true;
    }
    return false;
}

static void a_pool_becomes_a_job(void **state)
{
    static const char text[] =
        "pools: [{name: gpu, controller: 'https://h:7878', partition: h200, gpus: 2, "
        "gpu_type: h200, cpus: 8, memory: 32GiB, time: 4h, drain: 90s, idle: 1m, token_file: "
        "/a/b'c, labels: rack=3, options: [--qos=low], runner: [--log-level, debug]}]";
    struct pools_conf c;
    struct slurm_command k;
    struct err err = { 0 };

    (void)state;
    assert_int_equal(parse(&c, text, &err), 0);
    assert_int_equal(slurm_sbatch(&k, &c.pools[0], "12345678", 3, false, &err), 0);
    assert_true(has(&k, "--job-name=assay-12345678.gpu") && has(&k, "--array=1-3"));
    assert_true(has(&k, "--partition=h200") && has(&k, "--gres=gpu:h200:2"));
    assert_true(has(&k, "--cpus-per-task=8") && has(&k, "--mem=32768M") && has(&k, "--time=240"));
    assert_true(has(&k, "--signal=B:TERM@90") && has(&k, "--requeue") && has(&k, "--qos=low"));
    assert_non_null(strstr(k.text.data, "--token-file '/a/b'\\''c'"));
    assert_non_null(strstr(k.text.data, "--devices cuda --memory "));
    assert_non_null(strstr(k.text.data, "--idle-exit 60000ms"));
    assert_non_null(strstr(k.text.data, "--labels 'pool=gpu,slurm_job='\"$job\",'rack=3'"));
    assert_non_null(strstr(k.text.data, " '--log-level' 'debug'\n"));
    slurm_command_fini(&k);
    assert_int_equal(slurm_sbatch(&k, &c.pools[0], "12345678", 1, true, &err), 0);
    assert_true(has(&k, "--job-name=assay-12345678.gpu+") && !has(&k, "--array=1-1"));
    assert_non_null(strstr(k.text.data, "--idle-exit 0ms"));
    slurm_command_fini(&k);
    pools_conf_fini(&c);
}

static void jobs_are_read_from_squeue(void **state)
{
    static const char out[] = "7_1|RUNNING|None|n1|assay-12345678.gpu\n"
                              "7_2|PENDING|Resources||assay-12345678.gpu\n"
                              "8|PENDING|BeginTime||assay-12345678.gpu+\n"
                              "9|PENDING|launch failed requeued held||assay-12345678.cpu\n"
                              "10|COMPLETING|None|n2|assay-12345678.cpu\n"
                              "11|RUNNING|None|n2|assay-99999999.cpu\n"
                              "12|RUNNING|None|n2|my|own|name\n";
    struct slurm_job *jobs = NULL;
    struct err err = { 0 };
    int n = 0;

    (void)state;
    assert_int_equal(slurm_read_jobs(out, "12345678", &jobs, &n, &err), 0);
    assert_int_equal(n, 5);
    assert_string_equal(jobs[0].id, "7_1");
    assert_true(jobs[0].state == SLURM_RUNNING && !jobs[0].is_kept && !jobs[0].reason[0]);
    assert_string_equal(jobs[0].node, "n1");
    assert_true(jobs[1].state == SLURM_PENDING);
    assert_string_equal(jobs[1].reason, "Resources");
    assert_true(jobs[2].state == SLURM_LATE && jobs[2].is_kept);
    assert_string_equal(jobs[2].pool, "gpu");
    assert_true(jobs[3].state == SLURM_LATE && jobs[4].state == SLURM_LEAVING);
    mem_free(jobs);
    assert_int_equal(slurm_read_jobs("what?\n", "12345678", &jobs, &n, &err), -1);
    assert_null(jobs);
}

static void answers_and_complaints_are_read(void **state)
{
    char id[SLURM_ID_MAX], text[60];
    struct err err = { 0 };

    (void)state;
    assert_int_equal(slurm_read_id("4711;cluster\n", id, &err), 0);
    assert_string_equal(id, "4711");
    assert_int_equal(slurm_read_id("oops\n", id, &err), -1);
    slurm_complaint("sbatch: error: invalid partition specified: x\nsbatch: error: more", text,
                    sizeof text);
    assert_string_equal(text, "invalid partition specified: x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_file_is_refused_by_its_place),
        cmocka_unit_test(a_pool_becomes_a_job),
        cmocka_unit_test(jobs_are_read_from_squeue),
        cmocka_unit_test(answers_and_complaints_are_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
