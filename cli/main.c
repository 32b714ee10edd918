/* main.c - the program `assay`, and its two other names.
 *
 * There is one executable. Called as assayd it is the controller, called as assay-runner it is a
 * runner, otherwise it is the command line with the table of commands below. A new command needs
 * a function (cmd.h) and one row here. */
#include "cli/cmd.h"
#include "cli/print.h"

#include "base/log.h"
#include "base/str.h"
#include "controller/conf.h"
#include "trial-runner/agent/conf.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int controller_main(int argc, char **argv);    /* controller/main.c */
int controller_restore(int argc, char **argv); /* controller/main.c */
int runner_main(int argc, char **argv);        /* trial-runner/main.c */

#ifndef ASSAY_VERSION
#define ASSAY_VERSION "0.1.0"
#endif

static int cmd_serve(const struct cmd *cmd, int argc, char **argv)
{
    (void)cmd;
    return controller_main(argc, argv);
}

static int cmd_restore(const struct cmd *cmd, int argc, char **argv)
{
    (void)cmd;
    return controller_restore(argc, argv);
}

static int cmd_agent(const struct cmd *cmd, int argc, char **argv)
{
    (void)cmd;
    return runner_main(argc, argv);
}

static const struct cmd commands[] = {
    { "fit", "TRAIN.csv --target COLUMN [--time 60s] [-o best.assay]",
      "search for the best model of a table, here and now",
      "Needs no server and no spec. Reads CSV, JSON lines, Parquet, Arrow (Feather) and images, told by\n"
      "how the file begins, also packed with gzip, xz or zstd; \"-\" is standard input. Starts what it\n"
      "needs in a folder of its own, shows progress, prints the leaderboard, saves the model and stops\n"
      "what it started. Ctrl-C ends the search with the best model so far.\n\n"
      "  assay fit adult.csv.gz --target income --metric auc --time 2m -o income.assay\n"
      "  assay fit sales.parquet --target price\n"
      "  zcat part*.gz | assay fit - --target clicked",
      cmd_fit },
    { "run", "SPEC.yaml [--dir DIR] [-o MODEL]", "run a search spec here, keeping its database",
      "  assay run configs/studies/quick.yaml --dir ./assay-data", cmd_run },
    { "predict", "MODEL DATA.csv [-o OUT.csv]", "predict the rows of a table with a saved model",
      "Columns are matched by name; the target need not be there. The table may be in any format\n"
      "that `assay fit` reads; \"-\" is standard input. Writes a header\n"
      "`prediction` (regression) or `prediction,p_<class>,...`, one row per input row, in order.\n"
      "A level that the model has never seen, and a cell that it cannot read, count as missing.\n\n"
      "  assay predict best.assay new.csv -o predictions.csv\n"
      "  assay predict best.assay new.csv --keep id,date --threshold 0.2",
      cmd_predict },
    { "score", "MODEL TEST.csv [--weights COLUMN] [--json]",
      "how good a saved model is on rows whose truth is known",
      "Scores the model by every metric that suits its task, each with its standard error; shows the\n"
      "confusion matrix, precision and recall of each class, or how far numbers are off; and compares\n"
      "predictions with what happened, in groups. Use rows that the model was not trained on. Rows\n"
      "without a target are left out, and counted.\n\n"
      "  assay score best.assay test.csv\n"
      "  assay score best.assay test.csv --threshold 0.2 --json -o scores.json",
      cmd_score },
    { "explain", "MODEL [DATA.csv] [--permutation] [-o OUT.csv]",
      "why a saved model predicts what it does",
      "Without a table: what each column is worth to the model (gain of a tree's splits, weights of a\n"
      "linear model). With one: SHAP values, a row of `prediction,class,score,base,<columns>` per input\n"
      "row, where base and values add up to the score (log-odds; the score of a class before softmax; a\n"
      "forest's probability of the class; the target's units). With --permutation: what the model's\n"
      "metric loses on the table when a column is shuffled; use rows that it was not trained on.\n\n"
      "  assay explain best.assay\n"
      "  assay explain best.assay new.csv --rows 100 -o why.csv\n"
      "  assay explain best.assay new.csv --mean\n"
      "  assay explain best.assay test.csv --permutation",
      cmd_explain },
    { "serve", "[--data-dir DIR] [--listen HOST:PORT]",
      "the controller (= assayd): REST API and web page", NULL, cmd_serve },
    { "agent", "--server URL [--token-file FILE] [--name NAME]",
      "a runner on this machine (= assay-runner): offers its cores and GPUs to a controller", NULL,
      cmd_agent },
    { "submit", "SPEC.yaml [--follow [-o MODEL]]", "send a search spec to a running controller",
      "Tables named by path are uploaded. With --follow, Ctrl-C leaves the study, which goes on;\n"
      "'assay attach' comes back to it.\n\n  assay submit spec.yaml --follow -o best.assay",
      cmd_submit },
    { "attach", "STUDY [-o MODEL]", "follow a study of a running controller to its end",
      "Ctrl-C leaves the study, which goes on. At the end the leaderboard is shown, and with -o the\n"
      "best model saved. A study that has ended shows its leaderboard at once.\n\n"
      "  assay attach adult -o best.assay",
      cmd_attach },
    { "preview", "SPEC.yaml",
      "what a search spec would do, and what is wrong with it, before anything runs",
      "Trials by length, the most they can cost, and how long that takes once the table is known to\n"
      "the controller. Nothing is stored.\n\n  assay preview configs/studies/full.yaml",
      cmd_preview },
    { "searchers", "", "the samplers and schedulers that a spec may name, with their options",
      "What a controller takes as `sampler` and `scheduler`; `auto` picks one of them.\n\n  assay searchers",
      cmd_searchers },
    { "simulate", "[SPEC...] --table FILE [--workers N] [--seeds S]",
      "compare samplers and schedulers on a table of known outcomes, without training",
      "Trains nothing and asks no controller. Runs the sampler and scheduler of each SPEC, or those\n"
      "of the flags, every one with every other, under a simulated clock. docs/SIMULATE.md has the\n"
      "files' format.\n\n"
      "  assay simulate --table x.curves.json --sampler random,tpe --scheduler none,asha --workers 64",
      cmd_simulate },
    { "ls", "[--state STATE]", "list studies", "  assay ls --state running", cmd_ls },
    { "show", "STUDY", "one study: state, why it waits, budget, best trial, rungs",
      "  assay show adult", cmd_show },
    { "leaderboard", "STUDY [--limit N]", "trials of a study, best first",
      "  assay leaderboard adult --limit 20", cmd_leaderboard },
    { "trials", "STUDY [--state STATE]", "trials of a study by number",
      "  assay trials adult --state failed", cmd_trials },
    { "trial", "[show|kill|retry] STUDY/NUMBER | enqueue STUDY CONFIG",
      "one trial: show, kill or retry it, or enqueue a configuration of your own",
      "A trial is named by its study and its number there, as leaderboards show it; its id works as\n"
      "well.\n\n"
      "  assay trial adult/17\n  assay trial retry adult/17\n"
      "  assay trial enqueue adult '{family: boost, leaves: 63}'",
      cmd_trial },
    { "logs", "STUDY/NUMBER [-f]", "what a trial's program printed, or what happened to the trial",
      "Prints what the program of a command study has printed, and with -f what comes until the trial\n"
      "has ended. Other trials have no output: their journal is shown.\n\n"
      "  assay logs my-search/17 -f\n"
      "  assay logs adult/17",
      cmd_logs },
    { "importance", "STUDY [--method ped_anova|fanova]",
      "which parameters made the difference in a study",
      "PED-ANOVA (what the best tenth of the trials have in common) is there at once; fanova\n"
      "(shares of the variance over the whole space, by a forest) takes seconds.\n\n"
      "  assay importance adult --method fanova",
      cmd_importance },
    { "pareto", "STUDY [--x MEASURE] [--y MEASURE]",
      "trials that no other trial beats in two measures at once",
      "Measures: score, fit_us, predict_ns_row, model_bytes. Where none is named, the study's\n"
      "objectives are used.\n\n"
      "  assay pareto adult --x predict_ns_row",
      cmd_pareto },
    { "export", "STUDY[/NUMBER] [-o FILE] [--rows]",
      "save a study's best model, or a trial's, as a file; --rows: all its rows as JSON",
      "  assay export adult -o income.assay\n  assay export adult/3\n"
      "  assay export adult --rows -o adult.json",
      cmd_export },
    { "pause", "STUDY", "pause a study; its clock stands still", "  assay pause adult",
      cmd_study_verb },
    { "resume", "STUDY", "continue a paused study", "  assay resume adult", cmd_study_verb },
    { "stop", "STUDY", "end a study now and keep its best model", "  assay stop adult",
      cmd_study_verb },
    { "kill", "STUDY", "end a study now, without a model", "  assay kill adult", cmd_study_verb },
    { "archive", "STUDY", "hide an ended study from lists", "  assay archive adult",
      cmd_study_verb },
    { "rm", "STUDY", "remove an ended (or damaged) study, its trials and its models",
      "  assay rm adult", cmd_rm },
    { "data", "add FILE | ls | show NAME | rm NAME | make PROBLEM",
      "datasets of a controller; benchmark problems made here",
      "add: CSV, JSON lines (a nested value is kept as its JSON text), Parquet, Arrow (Feather) or\n"
      "images, told by how the file begins, also packed with gzip, xz or zstd; \"-\" is standard input.\n\n"
      "  assay data add sales.parquet\n"
      "  assay data make waveform -o waveform.csv --test-output waveform-test.csv\n  assay data make   (lists the problems)",
      cmd_data },
    { "runner", "ls | drain ID | enable ID", "runners of a controller", "  assay runner ls",
      cmd_runner },
    { "pools", "", "runners that a cluster's scheduler starts, and what waits for what",
      "  assay pools", cmd_pools },
    { "backup", "[NAME]", "copy a running controller's database and files",
      "Makes the folder backups/NAME in the controller's data folder while it runs: the database as it\n"
      "is at one moment, and every file that it names (as hard links, which take no room). Copy that\n"
      "folder to another disk. 'assay restore' makes a data folder of it.\n\n"
      "  assay backup before-upgrade",
      cmd_backup },
    { "restore", "BACKUP DIR", "make a data folder of a backup",
      "Needs no controller. Copies the backup into the new folder DIR, and checks the database and the\n"
      "hash of every file. Then start assayd with it; tokens and studies are those of the backup.\n\n"
      "  assay restore assay-data/backups/before-upgrade restored\n"
      "  assay serve --data-dir restored",
      cmd_restore },
    { "token", "ls | add NAME ROLE | rm ID", "access tokens (roles: admin user viewer runner)",
      "  assay token add ci user", cmd_token },
    { "session", "ls | link [ROLE] | rm ID",
      "who is signed in to the page; a new one-time link (roles: admin user viewer)",
      "  assay session link viewer", cmd_session },
    { "doctor", "", "what works on this machine, what is missing, and how to mend it",
      "  assay doctor", cmd_doctor },
    { "debug", "VERB [ARGUMENT...]", "look inside a controller that runs with --dev",
      "state            studies, queues, leases and runners in memory\n"
      "trial TRIAL      one trial (STUDY/NUMBER) and its journal\n"
      "digest           one hash of all facts, equal before and after a restart\n"
      "replay           rebuild the state from the journal and list what differs\n"
      "sql SELECT       read the database\n"
      "clock +TIME      move the controller's clock forward\n"
      "fault NAME [NTH] [on|kill]   let a fault point fail\n\n"
      "  assay debug trial adult/17\n  assay debug sql 'SELECT state, count(*) FROM trial GROUP BY 1'",
      cmd_debug },
};

/* Headings of the list of commands, each before the command that it names. */
static const struct {
    const char *first, *text;
} headings[] = {
    { "fit", "A model for a table, without a server:" },
    { "serve", "The service:" },
    { "submit", "Starting studies:" },
    { "ls", "Looking at studies and trials:" },
    { "pause", "Steering studies:" },
    { "data", "Tables, runners, people:" },
    { "doctor", "When something is wrong (docs/DEBUG.md):" },
};

static void print_help(FILE *out)
{
    fprintf(
        out,
        "usage: assay COMMAND [options]\n\n"
        "Assay finds the best model for a table: it searches models and hyperparameters on your\n"
        "machines and hands you the best one as a file.\n");
    for (size_t i = 0, next = 0; i < ARRAY_LEN(commands); i++) {
        if (next < ARRAY_LEN(headings) && strcmp(commands[i].name, headings[next].first) == 0)
            fprintf(out, "\n%s\n", headings[next++].text);
        fprintf(out, "  %-12s %s\n", commands[i].name, commands[i].summary);
    }
    fprintf(
        out,
        "\n'assay COMMAND --help' tells more. Start with: assay fit TABLE.csv --target COLUMN\n"
        "Commands find their controller by --server, ASSAY_URL, assay-data/sock in this folder, or\n"
        "the service of this machine.\n");
}

/* The command that is being described, an object of describe's list. */
static json_t *described;

static void describe_to(const struct cmd *cmd, const struct conf_opt *opts, size_t n)
{
    (void)cmd;
    json_object_set_new(described, "options", conf_table_json_new(opts, n));
}

/* `assay help --json`: every command with its texts and options, and the options of the daemons.
 * The manual pages and the shell completions are made from it (docs/manual/). */
static int describe(void)
{
    json_t *list = json_array();

    cli_help_to = describe_to;
    for (size_t i = 0, next = 0; i < ARRAY_LEN(commands); i++) {
        const struct cmd *c = &commands[i];
        char name[40] = "", help[] = "--help", *argv[] = { name, help, NULL };

        described = json_pack("{s:s, s:s, s:s, s:s?}", "name", c->name, "operands", c->operands,
                              "summary", c->summary, "details", c->details);
        if (next < ARRAY_LEN(headings) && strcmp(c->name, headings[next].first) == 0)
            json_object_set_new(described, "heading", json_string(headings[next++].text));
        (void)str_copy(name, sizeof(name), c->name);
        if (c->run != cmd_serve && c->run != cmd_agent && c->run != cmd_restore)
            (void)c->run(c, 2, argv);
        json_array_append_new(list, described);
    }
    json_t *all = json_pack("{s:s, s:o, s:o, s:o}", "version", ASSAY_VERSION, "commands", list,
                            "assayd", conf_table_json_new(ctl_opts, ctl_n_opts), "assay-runner",
                            conf_table_json_new(runner_opts, runner_opts_n));
    print_json(all);
    json_decref(all);
    return CLI_OK;
}

static int unknown(const char *name)
{
    const char *names[ARRAY_LEN(commands)];

    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        names[i] = commands[i].name;
    const char *near = str_nearest(name, names, ARRAY_LEN(names));
    fprintf(stderr, "assay: there is no command \"%.80s\"%s%s%s ('assay --help' lists them)\n",
            print_safe(name), near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    return CLI_USAGE;
}

/* What a command prints is its result, too: a disk that was full must not look like success. A
 * reader that has gone away (`assay ls | head -1`) has had what it wanted. */
static int printed(int rc)
{
    struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };

    if ((fflush(stdout) == 0 && !ferror(stdout)) || rc != CLI_OK)
        return rc;
    if (poll(&out, 1, 0) > 0 && out.revents & (POLLERR | POLLNVAL))
        return rc;
    fputs("assay: cannot write standard output\n", stderr);
    return CLI_FAILED;
}

int main(int argc, char **argv)
{
    const char *program = argc > 0 ? argv[0] : "assay";
    const char *base = strrchr(program, '/') ? strrchr(program, '/') + 1 : program;

    if (strcmp(base, "assayd") == 0)
        return controller_main(argc, argv);
    if (strcmp(base, "assay-runner") == 0)
        return runner_main(argc, argv);
    log_init("assay", LOG_WARN);
    if (argc < 2) {
        print_help(stderr);
        return CLI_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        if (argc > 2 && strcmp(argv[2], "--json") == 0)
            return printed(describe());
        print_help(stdout);
        return printed(CLI_OK);
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("assay " ASSAY_VERSION);
        return printed(CLI_OK);
    }
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return printed(commands[i].run(&commands[i], argc - 1, argv + 1));
    return unknown(argv[1]);
}
