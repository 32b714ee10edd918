/* page_programs.c - the pages of the three programs. The tables of options give names, defaults and
 * sentences; only what no table says (files, signals, exit codes) is written here. */
#include "docs/manual/pages.h"
#include "docs/manual/roff.h"

#include "base/base.h"

#include <string.h>

static void option(struct roff *r, const json_t *o)
{
    char name[200];
    char letter = pages_letter(o);

    (void)snprintf(name, sizeof name, "%s%s%s--%s", letter ? "-" : "",
                   letter ? (char[]){ letter, '\0' } : "", letter ? ", " : "",
                   pages_text(o, "name"));
    roff_term(r, name, pages_text(o, "kind"));
    roff_text(r, pages_text(o, "help"));
    if (*pages_text(o, "default")) {
        (void)snprintf(name, sizeof name, "(default %s)", pages_text(o, "default"));
        roff_text(r, name);
    }
    roff_line_end(r);
}

static void options(struct roff *r, const json_t *table)
{
    size_t i;
    json_t *o;

    json_array_foreach(table, i, o) option(r, o);
}

/* Paragraphs are divided by empty lines. One in which a line holds two spaces in a row is a table
 * or an example, and stays as it is. */
static void details(struct roff *r, const char *text)
{
    while (*text) {
        const char *end = strstr(text, "\n\n");
        size_t n = end ? (size_t)(end - text) : strlen(text);
        const char *two = strstr(text, "  ");
        char copy[2000];

        (void)snprintf(copy, sizeof copy, "%.*s", (int)n, text);
        if (two && two < text + n) {
            roff_verbatim(r, copy, strlen(copy));
        } else {
            roff_paragraph(r);
            roff_text(r, copy);
            roff_line_end(r);
        }
        text += n;
        text += strspn(text, "\n");
    }
}

static const char *version_of(const json_t *help, char out[64])
{
    (void)snprintf(out, 64, "assay %s", pages_text(help, "version"));
    return out;
}

struct entry {
    const char *term, *text;
};

static void entries(struct roff *r, const char *title, const struct entry *list, size_t n)
{
    roff_section(r, title);
    for (size_t i = 0; i < n; i++) {
        roff_term(r, list[i].term, "");
        roff_text(r, list[i].text);
        roff_line_end(r);
    }
}

static void paragraph(struct roff *r, const char *text)
{
    roff_paragraph(r);
    roff_text(r, text);
    roff_line_end(r);
}

/* ---- assay.1 ---- */

/* True if the option is one that every command has that asks a controller, but is no --json, of
 * which commands say different things. */
static int is_common(const json_t *o)
{
    static const char *const names[] = { "server",  "token",  "token-file",
                                         "tls-pin", "tls-ca", "insecure" };

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (strcmp(pages_text(o, "name"), names[i]) == 0)
            return 1;
    }
    return 0;
}

static void command(struct roff *r, const json_t *c)
{
    const json_t *table = json_object_get(c, "options");
    char usage[300];
    int common = 0;
    size_t i;
    json_t *o;

    (void)snprintf(usage, sizeof usage, "assay %s", pages_text(c, "name"));
    roff_subsection(r, usage);
    roff_verbatim(r, usage,
                  (size_t)snprintf(usage, sizeof usage, "assay %s %s", pages_text(c, "name"),
                                   pages_text(c, "operands")));
    paragraph(r, pages_text(c, "summary"));
    details(r, pages_text(c, "details"));
    if (strcmp(pages_text(c, "name"), "serve") == 0)
        paragraph(r, "Its options are those of assayd(8).");
    if (strcmp(pages_text(c, "name"), "agent") == 0)
        paragraph(r, "Its options are those of assay-runner(8).");
    json_array_foreach(table, i, o)
    {
        common += is_common(o);
        if (!is_common(o))
            option(r, o);
    }
    if (common > 0)
        paragraph(r, "It also takes the options of COMMANDS THAT ASK A CONTROLLER.");
}

static void common_options(struct roff *r, const json_t *commands)
{
    size_t i, k;
    json_t *c, *o;

    roff_section(r, "COMMANDS THAT ASK A CONTROLLER");
    paragraph(r,
              "The controller is looked for in this order: --server, ASSAY_URL, the file "
              "~/.config/assay/config.yaml, the socket assay-data/sock of the current folder, and "
              "the socket /run/assay/sock of this machine's service.");
    json_array_foreach(commands, i, c)
    {
        if (strcmp(pages_text(c, "name"), "doctor") != 0)
            continue;
        json_array_foreach(json_object_get(c, "options"), k, o)
        {
            if (is_common(o))
                option(r, o);
        }
    }
}

void page_assay(FILE *out, const json_t *help, const char *date)
{
    static const struct entry exits[] = {
        { "0", "It worked." },
        { "1", "It failed; standard error says why." },
        { "2", "The command line was wrong." },
        { "3", "What was asked for does not exist." },
        { "4", "No controller answers." },
        { "130", "Ctrl-C ended it." },
    };
    static const struct entry variables[] = {
        { "ASSAY_URL", "The controller to ask: unix:PATH or http(s)://host:port." },
        { "ASSAY_TOKEN", "The access token." },
        { "ASSAY_TLS_PIN, ASSAY_TLS_CA",
          "How the controller is known, as --tls-pin and --tls-ca." },
        { "ASSAY_CUDA", "The file of the CUDA half, instead of the installed one." },
        { "TMPDIR", "Where assay fit puts its files while it runs." },
        { "NO_COLOR", "Nothing is shown in bold." },
    };
    static const struct entry files[] = {
        { "~/.config/assay/config.yaml",
          "Lines such as \"server: https://host:7878\": server, token, tls_pin, tls_ca, insecure. "
          "Its mode should be 0600, since it may hold a token." },
        { "/run/assay/sock", "The socket of this machine's service. Members of the group assay may "
                             "use it, and are administrators of the service." },
    };
    const json_t *commands = json_object_get(help, "commands");
    char version[64];
    struct roff r;
    size_t i;
    json_t *c;

    roff_begin(&r, out, "assay", 1, date, version_of(help, version),
               "finds the best model for a table or for images");
    roff_section(&r, "SYNOPSIS");
    roff_term(&r, "assay", "COMMAND [option]... [operand]...");
    roff_term(&r, "assay help", "[--json]");
    roff_term(&r, "assay --version", "");
    roff_section(&r, "DESCRIPTION");
    roff_text(&r,
              "Assay searches models and hyperparameters on your machines and hands you the best "
              "one as a file. fit and run need no service; the other commands ask a controller, "
              "assayd(8), whose runners, assay-runner(8), train the models. What a search may "
              "say is in assay-spec(5).");
    paragraph(&r,
              "Options may stand before, between and behind the operands; -- ends them. A value "
              "may be joined to its option by an equals sign. TIME is a number with ms, s, m, h "
              "or d; SIZE is one with KiB, MiB, GiB and so on. Every command takes -h and "
              "--help. Data goes to standard output, progress and errors to standard error.");
    roff_section(&r, "COMMANDS");
    json_array_foreach(commands, i, c)
    {
        if (*pages_text(c, "heading"))
            paragraph(&r, pages_text(c, "heading"));
        command(&r, c);
    }
    common_options(&r, commands);
    entries(&r, "EXIT STATUS", exits, ARRAY_LEN(exits));
    entries(&r, "ENVIRONMENT", variables, ARRAY_LEN(variables));
    entries(&r, "FILES", files, ARRAY_LEN(files));
    roff_section(&r, "SEE ALSO");
    roff_text(&r, "assayd(8), assay-runner(8), assay-spec(5)");
    roff_line_end(&r);
}

/* ---- the daemons ---- */

static void daemon_options(struct roff *r, const json_t *table)
{
    roff_section(r, "OPTIONS");
    roff_text(r,
              "A value is taken from the first of these that has one: the option, the variable "
              "ASSAY_NAME of the environment (--log-level is ASSAY_LOG_LEVEL), a line \"name: "
              "value\" of the file of --config (log_level: debug), the default. TIME is a number "
              "with ms, s, m, h or d; SIZE is one with KiB, MiB, GiB and so on.");
    roff_line_end(r);
    roff_term(r, "--config", "FILE");
    roff_text(r, "options as lines \"name: value\"");
    roff_term(r, "-h, --help", "");
    roff_text(r, "all options");
    options(r, table);
}

static const struct entry notify[] = {
    { "NOTIFY_SOCKET, WATCHDOG_USEC",
      "Set by systemd: where to say that the program is ready, reloads and stops, and how often it "
      "must say that it lives. See sd_notify(3)." },
};

void page_assayd(FILE *out, const json_t *help, const char *date)
{
    static const struct entry files[] = {
        { "/etc/assay/assayd.yaml", "The options of the packaged service." },
        { "/var/lib/assay", "Its data folder: the database, the tables and the models." },
        { "/run/assay/sock", "Its Unix socket." },
        { "DATA_DIR/admin-token",
          "The administrator's token, made at the first start with a TCP address." },
    };
    static const struct entry signals[] = {
        { "SIGTERM, SIGINT", "Commits what was done, answers what waits, and ends." },
        { "SIGHUP", "Reads the configuration again; takes over log_level, lease_ms, max_wait_ms, "
                    "blob_age_ms and max_trials." },
        { "SIGUSR1", "Raises the log level by one; after debug follows warn." },
    };
    static const struct entry environment[] = {
        { "LISTEN_FDS, LISTEN_PID",
          "Set by systemd: sockets that are open already, a Unix socket, a TCP socket or both. They "
          "take the place of --socket and --listen. See sd_listen_fds(3)." },
    };
    char version[64];
    struct roff r;

    roff_begin(&r, out, "assayd", 8, date, version_of(help, version),
               "the controller of Assay: studies, runners, the REST API and the page");
    roff_section(&r, "SYNOPSIS");
    roff_term(&r, "assayd", "[option]...");
    roff_section(&r, "DESCRIPTION");
    roff_text(&r,
              "assayd keeps studies, tables and models in one folder, hands out work to runners, "
              "and answers the commands of assay(1), browsers and other programs. Over its Unix "
              "socket everything is allowed; over TCP a token is needed. assay serve is the same "
              "program. A database of an older version is brought up to date at the start; one "
              "of a newer version is refused.");
    roff_line_end(&r);
    daemon_options(&r, json_object_get(help, "assayd"));
    roff_term(&r, "-n", "");
    roff_text(&r, "check the configuration and end");
    entries(&r, "SIGNALS", signals, ARRAY_LEN(signals));
    entries(&r, "ENVIRONMENT", environment, ARRAY_LEN(environment));
    for (size_t i = 0; i < ARRAY_LEN(notify); i++) {
        roff_term(&r, notify[i].term, "");
        roff_text(&r, notify[i].text);
    }
    entries(&r, "FILES", files, ARRAY_LEN(files));
    roff_section(&r, "SEE ALSO");
    roff_text(&r, "assay(1), assay-runner(8), assay-spec(5), systemd(1)");
    roff_line_end(&r);
}

void page_runner(FILE *out, const json_t *help, const char *date)
{
    static const struct entry files[] = {
        { "/etc/assay/assay-runner.yaml", "The options of the packaged service." },
        { "/var/lib/assay-runner/token",
          "The packaged service's token. For a controller on the same machine it is made at the "
          "first start; for another one, put it there." },
        { "/var/cache/assay-runner", "Its downloaded tables and scratch files." },
    };
    static const struct entry signals[] = {
        { "SIGTERM, SIGINT",
          "Takes no new work, saves and hands back what it has, and ends; at most "
          "--drain later. A second signal ends it at once." },
    };
    char version[64];
    struct roff r;

    roff_begin(&r, out, "assay-runner", 8, date, version_of(help, version),
               "offers this machine's cores and GPUs to a controller of Assay");
    roff_section(&r, "SYNOPSIS");
    roff_term(&r, "assay-runner", "[option]...");
    roff_section(&r, "DESCRIPTION");
    roff_text(&r,
              "assay-runner asks a controller, assayd(8), for work and trains models on the "
              "devices of this machine, in one worker process for each. It opens no port for the "
              "controller: it calls, and nothing calls it. A worker that crashes is replaced; a "
              "controller that is away is waited for. assay agent is the same program.");
    roff_line_end(&r);
    daemon_options(&r, json_object_get(help, "assay-runner"));
    entries(&r, "SIGNALS", signals, ARRAY_LEN(signals));
    entries(&r, "ENVIRONMENT", notify, ARRAY_LEN(notify));
    entries(&r, "FILES", files, ARRAY_LEN(files));
    roff_section(&r, "SEE ALSO");
    roff_text(&r, "assay(1), assayd(8), assay-spec(5)");
    roff_line_end(&r);
}
