/* args.c - reads the command line of one command.
 *
 * Options come from the command's table (base/conf.h) and may stand before, between and behind the
 * operands. "--" ends the options. A wrong option is a usage error that names the nearest right
 * one; nothing is guessed. Every usage error ends with the usage line, so that the reader sees at
 * once what was wanted.
 *
 * Called by every command. */
#include "cli/cmd.h"
#include "cli/print.h"

#include "base/mem.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

enum { MAX_VERBS = 8 };

void (*cli_help_to)(const struct cmd *cmd, const struct conf_opt *opts, size_t n);

static void print_help(const struct cmd *cmd, const struct conf_opt *opts, size_t n)
{
    printf("usage: assay %s%s%s\n\n%s\n", cmd->name, cmd->operands[0] ? " " : "", cmd->operands,
           cmd->summary);
    if (cmd->details)
        printf("\n%s\n", cmd->details);
    printf("\noptions:\n");
    conf_help(stdout, opts, n);
}

int cli_usage(const struct cmd *cmd, const char *text)
{
    fprintf(stderr, "assay %s: %s\nusage: assay %s%s%s\n('assay %s --help' tells more)\n",
            cmd->name, print_safe(text), cmd->name, cmd->operands[0] ? " " : "", cmd->operands,
            cmd->name);
    return CLI_USAGE;
}

/* True when the usage line lists verbs, such as "ls | add NAME ROLE | rm ID". Other usage lines
 * hold only operands and options. */
static bool has_verbs(const struct cmd *cmd)
{
    return cmd->operands[0] != '[' && strchr(cmd->operands, '|') != NULL;
}

/* Splits a usage line with verbs into its parts: *verb is the first word of each part, *rest the
 * text behind it. Returns the number of parts. */
static int verbs_of(const struct cmd *cmd, char *copy, size_t size, char **verb, char **rest)
{
    char *save = NULL;
    int n = 0;

    (void)!snprintf(copy, size, "%s", cmd->operands);
    for (char *p = strtok_r(copy, "|", &save); p && n < MAX_VERBS; p = strtok_r(NULL, "|", &save)) {
        verb[n] = p + strspn(p, " ");
        rest[n] = verb[n] + strcspn(verb[n], " ");
        if (*rest[n])
            *rest[n]++ = '\0';
        rest[n] += strspn(rest[n], " ");
        for (size_t k = strlen(rest[n]); k > 0 && rest[n][k - 1] == ' '; k--)
            rest[n][k - 1] = '\0';
        n++;
    }
    return n;
}

int cli_usage_verb(const struct cmd *cmd, const char *said)
{
    char copy[200], list[200], text[400], *verb[MAX_VERBS], *rest[MAX_VERBS];
    int n = verbs_of(cmd, copy, sizeof(copy), verb, rest);

    for (int i = 0; said && i < n; i++) {
        if (strcmp(verb[i], said) == 0) {
            snprintf(text, sizeof(text), "%s takes %s", said, *rest[i] ? rest[i] : "no argument");
            return cli_usage(cmd, text);
        }
    }
    str_list((const char *const *)verb, (size_t)n, list, sizeof(list));
    if (said)
        snprintf(text, sizeof(text), "there is no \"%.60s\"; there are %s", said, list);
    else
        snprintf(text, sizeof(text), "say what to do: %s", list);
    return cli_usage(cmd, text);
}

/* Says which operand is missing: the word at that place of the usage line, where options and
 * words in brackets are not counted. */
static int usage_missing(const struct cmd *cmd, int at)
{
    char copy[200], text[240] = "an argument is missing", *save = NULL;
    int depth = 0;

    if (has_verbs(cmd) && at == 0)
        return cli_usage_verb(cmd, NULL);
    (void)!snprintf(copy, sizeof(copy), "%s", cmd->operands);
    for (char *p = strtok_r(copy, " ", &save); p; p = strtok_r(NULL, " ", &save)) {
        bool is_plain = depth == 0 && *p != '[' && *p != '-' && *p != '|';
        for (const char *c = p; *c; c++)
            depth += (*c == '[') - (*c == ']');
        if (is_plain && at-- == 0) {
            snprintf(text, sizeof(text), "%s is missing", p);
            break;
        }
    }
    return cli_usage(cmd, text);
}

/* -o FILE, -y, -f and -h are the only short options; all but the last become their long forms. */
static char **expand_short(int argc, char **argv)
{
    char **out = mem_array((size_t)argc + 1, sizeof(*out));

    for (int i = 0; i < argc; i++)
        out[i] = strcmp(argv[i], "-o") == 0   ? (char *)"--output"
                 : strcmp(argv[i], "-y") == 0 ? (char *)"--yes"
                 : strcmp(argv[i], "-f") == 0 ? (char *)"--follow"
                                              : argv[i];
    return out;
}

static int one_option(const struct conf_opt *opts, size_t n, void *target, int argc, char **argv,
                      int *i, struct err *err)
{
    /* conf_args reads options up to the next operand; the operands are collected by cli_args. */
    return conf_args(target, opts, n, argc, argv, i, err);
}

int cli_args(const struct cmd *cmd, const struct conf_opt *opts, size_t n, void *target, int argc,
             char **argv, const char **operands, int min_operands, int max_operands,
             int *n_operands)
{
    struct err err = { 0 };
    char **args = expand_short(argc, argv);
    bool only_operands = false;
    int count = 0, rc = -1;

    if (conf_defaults(target, opts, n, &err) < 0) {
        rc = cli_fail(&err);
        goto out;
    }
    for (int i = 1; i < argc;) {
        if (!only_operands && (strcmp(args[i], "--help") == 0 || strcmp(args[i], "-h") == 0)) {
            (cli_help_to ? cli_help_to : print_help)(cmd, opts, n);
            rc = CLI_OK;
            goto out;
        }
        if (!only_operands && strcmp(args[i], "--") == 0) {
            only_operands = true;
            i++;
        } else if (!only_operands && args[i][0] == '-' && args[i][1] != '\0') {
            /* conf_args takes an option together with its value, so a value of "--help" is not
             * taken for the option. */
            int before = i;
            if (one_option(opts, n, target, argc, args, &i, &err) < 0 || i == before) {
                if (!err.text[0])
                    err_set(&err, ERR_ARG, "unknown option %.80s", argv[before]);
                rc = cli_usage(cmd, err.text);
                goto out;
            }
        } else if (args[i][0] == '\0') {
            rc = cli_usage(cmd, "an argument is empty: is a variable of your shell not set?");
            goto out;
        } else if (count >= max_operands) {
            char text[200];
            snprintf(text, sizeof(text), "unexpected argument \"%.100s\"", args[i]);
            rc = cli_usage(cmd, text);
            goto out;
        } else {
            operands[count++] = args[i++];
        }
    }
    if (count < min_operands)
        rc = usage_missing(cmd, count);
out:
    *n_operands = count;
    mem_free(args);
    return rc;
}

int cli_exit_code(const struct err *err)
{
    switch (err->code) {
    case ERR_NOTFOUND:
        return CLI_NOTFOUND;
    case ERR_UNREACHABLE:
        return CLI_UNREACHABLE;
    default:
        return CLI_FAILED;
    }
}

int cli_fail(const struct err *err)
{
    /* err_at puts the field's name before its own texts. The answer of a server carries the name
     * apart from the text. */
    if (err->where[0] && !strstr(err->text, err->where))
        fprintf(stderr, "assay: %s: %s\n", print_safe(err->where), print_safe(err->text));
    else
        fprintf(stderr, "assay: %s\n", print_safe(err->text));
    return cli_exit_code(err);
}
