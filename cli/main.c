/* main.c - `assay`, and its other two names. One executable: called as assayd it is the controller, as assay-runner a
 * runner, otherwise the command line. Adding a command is one function (cmd.h) and one row here. */
#include "cli/cmd.h"

#include "base/log.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

int controller_main(int argc, char **argv); /* controller/main.c */
int runner_main(int argc, char **argv);     /* trial-runner/main.c */

#ifndef ASSAY_VERSION
#define ASSAY_VERSION "0.1.0"
#endif

static int cmd_serve(const struct cmd *cmd, int argc, char **argv)
{
    (void)cmd;
    return controller_main(argc, argv);
}

static int cmd_agent(const struct cmd *cmd, int argc, char **argv)
{
    (void)cmd;
    return runner_main(argc, argv);
}

static const struct cmd commands[] = {
    { "fit", "TRAIN.csv --target COLUMN [--time 60s] [-o best.assay]",
      "search for the best model of a table, here and now",
      "Needs no server and no spec. Reads CSV (also gzipped), starts what it needs in a folder of\n"
      "its own, shows progress, prints the leaderboard, saves the model and stops what it started.\n"
      "Ctrl-C ends the search with the best model so far.\n\n"
      "  assay fit adult.csv.gz --target income --metric auc --time 2m -o income.assay",
      cmd_fit },
    { "run", "SPEC.yaml [--dir DIR] [-o MODEL]", "run a search spec here, keeping its database",
      "  assay run configs/studies/quick.yaml --dir ./assay-data", cmd_run },
    { "serve", "[--data-dir DIR] [--listen HOST:PORT]",
      "the controller daemon (= assayd): REST API and web page", NULL, cmd_serve },
    { "agent", "--server URL [--token-file FILE] [--name NAME]",
      "a trial-runner (= assay-runner) on this machine", NULL, cmd_agent },
    { "submit", "SPEC.yaml [--follow [-o MODEL]]", "send a search spec to a running controller",
      "Tables named by path are uploaded. With --follow, Ctrl-C leaves the study, which goes on;\n"
      "'assay attach' comes back to it.\n\n  assay submit spec.yaml --follow -o best.assay",
      cmd_submit },
    { "attach", "STUDY [-o MODEL]", "follow a study of a running controller to its end",
      "Ctrl-C leaves the study, which goes on. At the end the leaderboard is shown, and with -o the\n"
      "best model saved. A study that has ended shows its leaderboard at once.\n\n"
      "  assay attach adult -o best.assay",
      cmd_attach },
    { "preview", "SPEC.yaml", "what a search spec would do, before anything runs",
      "Trials by length, the most they can cost, and how long that takes once the table is known to\n"
      "the controller. Nothing is stored.\n\n  assay preview configs/studies/full.yaml",
      cmd_preview },
    { "searchers", "", "samplers and schedulers that a spec may name, with their options",
      "What a controller takes as `sampler` and `scheduler`; `auto` picks one of them.\n\n  assay searchers",
      cmd_searchers },
    { "ls", "[--state STATE]", "list studies", "  assay ls --state running", cmd_ls },
    { "show", "STUDY", "one study: state, budget, best", "  assay show adult", cmd_show },
    { "leaderboard", "STUDY [--limit N]", "trials of a study, best first",
      "  assay leaderboard adult --limit 20", cmd_leaderboard },
    { "importance", "STUDY [--method ped_anova|fanova]", "which parameters made the difference",
      "PED-ANOVA (what the best tenth of the trials have in common) is there at once; fanova\n"
      "(shares of the variance over the whole space, by a forest) takes seconds.\n\n"
      "  assay importance adult --method fanova",
      cmd_importance },
    { "pareto", "STUDY [--x FACT] [--y FACT]", "trials that no other beats in two facts at once",
      "Facts: score, fit_us, predict_ns_row, model_bytes. Neither named: the study's objectives.\n\n"
      "  assay pareto adult --x predict_ns_row",
      cmd_pareto },
    { "trials", "STUDY [--state STATE]", "trials of a study by number",
      "  assay trials adult --state failed", cmd_trials },
    { "trial", "[show|kill|retry] STUDY/NUMBER | enqueue STUDY CONFIG",
      "one trial: configuration, reports, leases; or one more, as you wish it",
      "A trial is named by its study and its number there, as leaderboards show it; its id works as\n"
      "well.\n\n"
      "  assay trial adult/17\n  assay trial retry adult/17\n"
      "  assay trial enqueue adult '{family: boost, leaves: 63}'",
      cmd_trial },
    { "logs", "STUDY/NUMBER", "what happened to a trial, from its journal", "  assay logs adult/17",
      cmd_logs },
    { "pause", "STUDY", "pause a study; its clock stands still", "  assay pause adult",
      cmd_study_verb },
    { "resume", "STUDY", "go on with a paused study", "  assay resume adult", cmd_study_verb },
    { "stop", "STUDY", "end a study now, with a model", "  assay stop adult", cmd_study_verb },
    { "kill", "STUDY", "end a study now, without a model", "  assay kill adult", cmd_study_verb },
    { "archive", "STUDY", "hide an ended study from lists", "  assay archive adult",
      cmd_study_verb },
    { "rm", "STUDY", "remove an ended (or damaged) study and all that came of it",
      "  assay rm adult", cmd_rm },
    { "export", "STUDY[/NUMBER] [-o FILE] [--rows]",
      "save the best model (or a trial's) as a file, or what is stored as JSON",
      "  assay export adult -o income.assay\n  assay export adult/3\n"
      "  assay export adult --rows -o adult.json",
      cmd_export },
    { "predict", "MODEL DATA.csv [-o OUT.csv]", "predict the rows of a table with a saved model",
      "Columns are matched by name; the target need not be there. Writes a header\n"
      "`prediction` (regression) or `prediction,p_<class>,...`, one row per input row, in order.\n\n"
      "  assay predict best.assay new.csv -o predictions.csv",
      cmd_predict },
    { "explain", "MODEL [DATA.csv] [--permutation] [-o OUT.csv]",
      "why a saved model predicts what it does",
      "Without a table: what each column is worth to the model (gain of a tree's splits, weights of a\n"
      "linear model). With one: SHAP values, a row of `prediction,class,score,base,<columns>` per input\n"
      "row, where base and values add up to the score (log-odds; the score of a class before softmax; a\n"
      "forest's probability of the class; the target's units). With --permutation: what the model's metric loses on the table when a\n"
      "column is shuffled; use rows that it was not trained on.\n\n"
      "  assay explain best.assay\n"
      "  assay explain best.assay new.csv --rows 100 -o why.csv\n"
      "  assay explain best.assay new.csv --mean\n"
      "  assay explain best.assay test.csv --permutation",
      cmd_explain },
    { "simulate", "[SPEC...] --table FILE [--workers N] [--seeds S]",
      "compare samplers and schedulers on a table of known outcomes",
      "Trains nothing and asks no controller. Runs the sampler and scheduler of each SPEC, or those\n"
      "of the flags, every one with every other, under a simulated clock. docs/SIMULATE.md has the\n"
      "files' format.\n\n"
      "  assay simulate --table x.curves.json --sampler random,tpe --scheduler none,asha --workers 64",
      cmd_simulate },
    { "data", "add FILE | ls | show NAME | rm NAME | make PROBLEM",
      "datasets, and benchmark problems made here",
      "  assay data make waveform -o waveform.csv --test-output waveform-test.csv\n  assay data make   (lists the problems)",
      cmd_data },
    { "runner", "ls | drain ID | enable ID", "runners of a controller", "  assay runner ls",
      cmd_runner },
    { "token", "ls | add NAME ROLE | rm ID", "access tokens (roles: admin user viewer runner)",
      "  assay token add ci user", cmd_token },
    { "session", "ls | link [ROLE] | rm ID",
      "who is signed in to the page; a new one-time link to it (roles: admin user viewer)",
      "  assay session link viewer", cmd_session },
    { "doctor", "", "what works on this machine, what is missing, what mends it", "  assay doctor",
      cmd_doctor },
    { "debug", "VERB [ARGUMENT...]",
      "ask a controller about its inside (trial, state, digest, replay, sql ...)",
      "  assay debug digest", cmd_debug },
};

static void print_help(FILE *out)
{
    fprintf(
        out,
        "usage: assay COMMAND [options]\n\n"
        "Assay finds the best model for a table: it searches pipelines and hyperparameters over\n"
        "your CPUs and GPUs and hands you the winner as a file.\n\n");
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        fprintf(out, "  %-12s %s\n", commands[i].name, commands[i].summary);
    fprintf(
        out,
        "\n'assay COMMAND --help' tells more. Start with: assay fit your.csv --target COLUMN\n");
}

static int unknown(const char *name)
{
    const char *names[ARRAY_LEN(commands)];

    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        names[i] = commands[i].name;
    const char *near = str_nearest(name, names, ARRAY_LEN(names));
    fprintf(stderr, "assay: no command \"%s\"%s%s; 'assay --help' lists them\n", name,
            near ? "; did you mean " : "", near ? near : "");
    return CLI_USAGE;
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
        print_help(stdout);
        return CLI_OK;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("assay " ASSAY_VERSION);
        return CLI_OK;
    }
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(&commands[i], argc - 1, argv + 1);
    return unknown(argv[1]);
}
