/* complete.c - completion for bash, zsh and fish. All three know the commands, their verbs and
 * their options, which option takes a value and which value is a file; operands are files. The
 * daemons' options are those of `assay serve` and `assay agent`. */
#include "docs/manual/pages.h"

#include "base/base.h"
#include "base/str.h"

#include <stdbool.h>
#include <string.h>

/* Names of options whose value is a file or a folder, although their type is a text. */
static bool is_file(const json_t *o)
{
    static const char *const names[] = { "output",  "token-file",  "tls-ca", "table", "test",
                                         "weights", "test-output", "dir",    "files" };

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_eq(pages_text(o, "name"), names[i]))
            return true;
    }
    return str_eq(pages_text(o, "kind"), "PATH");
}

static bool is_flag(const json_t *o)
{
    return !*pages_text(o, "kind");
}

/* The options of a command, or of the daemon that it is. */
static const json_t *options_of(const json_t *help, const json_t *c)
{
    if (str_eq(pages_text(c, "name"), "serve"))
        return json_object_get(help, "assayd");
    if (str_eq(pages_text(c, "name"), "agent"))
        return json_object_get(help, "assay-runner");
    return json_object_get(c, "options");
}

static bool is_daemon(const json_t *c)
{
    return str_eq(pages_text(c, "name"), "serve") || str_eq(pages_text(c, "name"), "agent");
}

/* ---- bash ---- */

static void bash_words(FILE *out, const json_t *table, bool only_valued, bool only_files,
                       const char *between)
{
    const char *gap = "";
    size_t i;
    json_t *o;

    json_array_foreach(table, i, o)
    {
        char letter = pages_letter(o);

        if ((only_valued && is_flag(o)) || (only_files && !is_file(o)))
            continue;
        fprintf(out, "%s--%s", gap, pages_text(o, "name"));
        gap = between;
        if (letter)
            fprintf(out, "%s-%c", gap, letter);
    }
}

static void bash_verbs(FILE *out, const json_t *c)
{
    char verb[32];
    size_t at = 0;
    const char *gap = "";

    while (pages_verb(pages_text(c, "operands"), &at, verb)) {
        fprintf(out, "%s%s", gap, verb);
        gap = " ";
    }
}

void complete_bash(FILE *out, const json_t *help)
{
    const json_t *commands = json_object_get(help, "commands");
    size_t i;
    json_t *c;

    fprintf(out, "# Made by docs/manual from the program's own tables; do not edit.\n"
                 "# shellcheck shell=bash\n"
                 "_assay() {\n"
                 "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
                 "    local command=${COMP_WORDS[1]} options= verbs= valued= files=\n"
                 "    case ${COMP_WORDS[0]##*/} in\n"
                 "    assayd) command=serve ;;\n"
                 "    assay-runner) command=agent ;;\n"
                 "    *)\n"
                 "        if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
                 "            mapfile -t COMPREPLY < <(compgen -W 'help --help --version");
    json_array_foreach(commands, i, c) fprintf(out, " %s", pages_text(c, "name"));
    fprintf(out, "' -- \"$cur\")\n"
                 "            return\n"
                 "        fi\n"
                 "        ;;\n"
                 "    esac\n"
                 "    case $command in\n");
    json_array_foreach(commands, i, c)
    {
        const char *more = is_daemon(c) ? " --config" : "";

        fprintf(out, "    %s)\n        options='--help%s%s ", pages_text(c, "name"), more,
                str_eq(pages_text(c, "name"), "serve") ? " -n" : "");
        bash_words(out, options_of(help, c), false, false, " ");
        fprintf(out, "'\n        valued='%s ", more);
        bash_words(out, options_of(help, c), true, false, " ");
        fprintf(out, " '\n        files='%s ", more);
        bash_words(out, options_of(help, c), false, true, " ");
        fprintf(out, " '\n        verbs='");
        bash_verbs(out, c);
        fprintf(out, "'\n        ;;\n");
    }
    fprintf(out, "    esac\n"
                 "    if [[ $files == *\" $prev \"* ]]; then\n"
                 "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
                 "        compopt -o filenames 2>/dev/null\n"
                 "    elif [[ $valued == *\" $prev \"* ]]; then\n"
                 "        COMPREPLY=()\n"
                 "    elif [[ $cur == -* ]]; then\n"
                 "        mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$cur\")\n"
                 "    elif [ -n \"$verbs\" ] && [ \"$COMP_CWORD\" -eq 2 ]; then\n"
                 "        mapfile -t COMPREPLY < <(compgen -W \"$verbs\" -- \"$cur\")\n"
                 "    else\n"
                 "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
                 "        compopt -o filenames 2>/dev/null\n"
                 "    fi\n"
                 "}\n"
                 "complete -F _assay assay assayd assay-runner\n");
}

/* ---- zsh and fish ---- */

/* Text in single quotes; `also` are characters that the shell's own format needs escaped. */
static void quoted(FILE *out, const char *text, const char *also, bool is_fish)
{
    for (const char *p = text; *p; p++) {
        if (*p == '\'')
            fprintf(out, is_fish ? "\\'" : "'\\''");
        else if (*p == '\\')
            fprintf(out, "\\\\");
        else if (strchr(also, *p))
            fprintf(out, "\\%c", *p);
        else
            fputc(*p == '\n' ? ' ' : *p, out);
    }
}

static void zsh_option(FILE *out, const json_t *o)
{
    const char *name = pages_text(o, "name");
    char letter = pages_letter(o);

    fprintf(out, "            ");
    if (letter)
        fprintf(out, "'(-%c --%s)'{-%c%s,--%s%s}'[", letter, name, letter, is_flag(o) ? "" : "+",
                name, is_flag(o) ? "" : "=");
    else
        fprintf(out, "'--%s%s[", name, is_flag(o) ? "" : "=");
    quoted(out, pages_text(o, "help"), "[]", false);
    fprintf(out, "]");
    if (!is_flag(o))
        fprintf(out, ":%s:%s", pages_text(o, "kind"), is_file(o) ? "_files" : "");
    fprintf(out, "' \\\n");
}

static void zsh_command(FILE *out, const json_t *help, const json_t *c)
{
    char verb[32];
    size_t at = 0, i;
    json_t *o;
    bool has_verbs = false;

    fprintf(
        out,
        "    %s)\n        _arguments -s -S \\\n            '(-h --help)'{-h,--help}'[help]' \\\n",
        pages_text(c, "name"));
    if (is_daemon(c))
        fprintf(out, "            '--config=[file of options]:FILE:_files' \\\n");
    if (str_eq(pages_text(c, "name"), "serve"))
        fprintf(out, "            '-n[check the configuration and end]' \\\n");
    json_array_foreach(options_of(help, c), i, o) zsh_option(out, o);
    while (pages_verb(pages_text(c, "operands"), &at, verb)) {
        fprintf(out, has_verbs ? " %s" : "            '1:verb:(%s", verb);
        has_verbs = true;
    }
    fprintf(out, "%s            '*:file:_files'\n        ;;\n", has_verbs ? ")' \\\n" : "");
}

void complete_zsh(FILE *out, const json_t *help)
{
    const json_t *commands = json_object_get(help, "commands");
    size_t i;
    json_t *c;

    fprintf(out, "#compdef assay assayd assay-runner\n"
                 "# Made by docs/manual from the program's own tables; do not edit.\n"
                 "_assay_command() {\n    case $1 in\n");
    json_array_foreach(commands, i, c) zsh_command(out, help, c);
    fprintf(out, "    *) _files ;;\n    esac\n}\n\n"
                 "_assay() {\n"
                 "    local -a commands=(\n");
    json_array_foreach(commands, i, c)
    {
        fprintf(out, "        '%s:", pages_text(c, "name"));
        quoted(out, pages_text(c, "summary"), ":", false);
        fprintf(out, "'\n");
    }
    fprintf(out, "        'help:all commands'\n"
                 "    )\n"
                 "    case $service in\n"
                 "    assayd) _assay_command serve; return ;;\n"
                 "    assay-runner) _assay_command agent; return ;;\n"
                 "    esac\n"
                 "    if (( CURRENT == 2 )); then\n"
                 "        _describe command commands\n"
                 "    else\n"
                 "        local command=$words[2]\n"
                 "        shift words\n"
                 "        (( CURRENT-- ))\n"
                 "        _assay_command $command\n"
                 "    fi\n"
                 "}\n\n"
                 "_assay \"$@\"\n");
}

static void fish_options(FILE *out, const json_t *table, const char *program, const char *when)
{
    size_t i;
    json_t *o;

    json_array_foreach(table, i, o)
    {
        char letter = pages_letter(o);

        fprintf(out, "complete -c %s%s -l %s", program, when, pages_text(o, "name"));
        if (letter)
            fprintf(out, " -s %c", letter);
        fprintf(out, "%s -d '", is_flag(o) ? "" : is_file(o) ? " -r -F" : " -x");
        quoted(out, pages_text(o, "help"), "", true);
        fprintf(out, "'\n");
    }
}

static void fish_daemon(FILE *out, const json_t *table, const char *program)
{
    fprintf(out, "complete -c %s -l config -r -F -d 'file of options'\n", program);
    fprintf(out, "complete -c %s -s h -l help -d 'all options'\n", program);
    fish_options(out, table, program, "");
}

void complete_fish(FILE *out, const json_t *help)
{
    const json_t *commands = json_object_get(help, "commands");
    size_t i;
    json_t *c;

    fprintf(out, "# Made by docs/manual from the program's own tables; do not edit.\n"
                 "complete -c assay -n __fish_use_subcommand -l version -d 'print the version'\n"
                 "complete -c assay -s h -l help -d 'help'\n");
    json_array_foreach(commands, i, c)
    {
        char when[80], verb[32];
        size_t at = 0;

        fprintf(out, "complete -c assay -n __fish_use_subcommand -f -a %s -d '",
                pages_text(c, "name"));
        quoted(out, pages_text(c, "summary"), "", true);
        fprintf(out, "'\n");
        (void)snprintf(when, sizeof when, " -n '__fish_seen_subcommand_from %s'",
                       pages_text(c, "name"));
        if (is_daemon(c))
            fprintf(out, "complete -c assay%s -l config -r -F -d 'file of options'\n", when);
        fish_options(out, options_of(help, c), "assay", when);
        while (pages_verb(pages_text(c, "operands"), &at, verb))
            fprintf(out, "complete -c assay%s -a %s\n", when, verb);
    }
    fish_daemon(out, json_object_get(help, "assayd"), "assayd");
    fprintf(out, "complete -c assayd -s n -d 'check the configuration and end'\n");
    fish_daemon(out, json_object_get(help, "assay-runner"), "assay-runner");
}
