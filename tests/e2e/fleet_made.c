/* fleet_made.c - what a simulated trial reaches and leaves: values, and the bytes of its checkpoints and models, all of them
 * functions of its configuration and level. */
#include "tests/e2e/fleet_priv.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/model/artifact_head.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- results: functions of the configuration and the level ---- */

uint64_t fleet_draw(const char *config, uint64_t key)
{
    uint64_t h = 1469598103934665603u;

    for (const char *c = config; *c; c++)
        h = (h ^ (unsigned char)*c) * 1099511628211u;
    return rng_mix(h, key);
}

static double share(const char *config, uint64_t key)
{
    return (double)(fleet_draw(config, key) >> 11) / 9007199254740992.0;
}

double fleet_value(const char *config, int level)
{
    return 0.5 + 0.4 * share(config, 1) + 0.02 * share(config, (uint64_t)level + 2);
}

bool fleet_diverges(const struct peer *p, const struct fleet_trial *t)
{
    return (int)(fleet_draw(t->config, 1000) % 100) < p->fleet->conf.fail_percent;
}

/* ---- files: a checkpoint says of what it is, a model is an empty one with the same words at its end ---- */

static void put(char **at, const void *p, size_t n)
{
    memcpy(*at, p, n);
    *at += n;
}

static void bytes_model(struct peer *p, const char *tag)
{
    const uint32_t versions[] = { ARTIFACT_FORMAT, 1, SECTIONS };
    uint64_t n = strlen(tag);
    uint8_t nothing[SHA256_BYTES], digest[SHA256_BYTES];
    struct sha256 h;
    char *at = p->bytes = mem_array(1, ARTIFACT_HEAD_BYTES + n);

    sha256_init(&h);
    sha256_end(&h, nothing);
    sha256_init(&h);
    sha256_add(&h, tag, n);
    sha256_end(&h, digest);
    put(&at, ARTIFACT_MAGIC, 8);
    put(&at, versions, sizeof versions);
    for (int i = 0; i < SECTIONS; i++) {
        bool is_last = i == SECTIONS - 1;
        const uint64_t place[] = { ARTIFACT_HEAD_BYTES, is_last ? n : 0 };

        put(&at, artifact_section_names[i], ARTIFACT_NAME_BYTES);
        put(&at, place, sizeof place);
        put(&at, is_last ? digest : nothing, SHA256_BYTES);
    }
    put(&at, tag, n);
    p->n_bytes = (size_t)(at - p->bytes);
}

static void tag_of(const struct fleet_trial *t, int level, char *out, size_t size)
{
    (void)!snprintf(out, size, "%016" PRIx64 " at %d", fleet_draw(t->config, 7), level);
}

void fleet_checkpoint(const struct fleet_trial *t, int level, char out[SHA256_HEX])
{
    char tag[60];

    tag_of(t, level, tag, sizeof tag);
    sha256_hex(tag, strlen(tag), out);
}

void fleet_file(struct peer *p, const struct fleet_trial *t)
{
    char tag[60];

    mem_free(p->bytes);
    if (!t) {
        bytes_model(p, "refit");
        return;
    }
    tag_of(t, t->to, tag, sizeof tag);
    if (t->next == MSG_COMPLETE) {
        bytes_model(p, tag);
    } else {
        p->bytes = mem_strdup(tag);
        p->n_bytes = strlen(tag);
    }
}
