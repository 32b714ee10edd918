/* artifact_write.c - writes a fitted pipeline as one file (layout: artifact.h).
 *
 * The bytes are a pure function of the parts: no time, host, path or duration, and one form of NaN,
 * so that the same seed ships the same file. Called by fit/. */
#include "base/mem.h"
#include "base/sha256.h"
#include "ml/model/artifact_private.h"
#include "ml/model/readings.h"
#include "ml/table/json_text.h"

#include <math.h>
#include <string.h>

/* SCHEMA_LEVELS: levels of a column that the JSON text names, of which people read a few only.
 * GIVE_BACK_BYTES: as in ml/fit/fit_ship.c. */
enum { SCHEMA_LEVELS = 100, GIVE_BACK_BYTES = 1 << 19 };

static int put_score(struct buf *b, double v, struct err *err)
{
    return buf_put_f64(b, isnan(v) ? (double)NAN : v, err);
}

static bool adjusts(const struct artifact_parts *p)
{
    return p->adjust && !adjust_is_plain(p->adjust);
}

/* Those of a single model; an ensemble's stand with its members. */
static bool has_limits(const struct artifact_parts *p)
{
    return p->n_members == 0 && p->limits && target_limits_are(p->limits);
}

static int write_info(const struct artifact_parts *p, struct buf *b, struct err *err)
{
    bool has_unit = p->unit.kind != TARGET_PLAIN;
    int bits = (has_unit ? ARTIFACT_UNIT : 0) | (adjusts(p) ? ARTIFACT_ADJUST : 0) |
               (p->is_pool ? ARTIFACT_POOL : 0) | (has_limits(p) ? ARTIFACT_LIMITS : 0);

    if (buf_put_u8(b, (uint8_t)((int)p->task | bits), err) < 0 ||
        buf_put_str(b, p->target, err) < 0 || buf_put_str(b, p->family, err) < 0 ||
        buf_put_str(b, p->metric, err) < 0 || put_score(b, p->score, err) < 0 ||
        put_score(b, p->score_se, err) < 0 || buf_put_u32(b, (uint32_t)p->n_classes, err) < 0)
        return -1;
    for (int i = 0; i < p->n_classes; i++) {
        if (buf_put_str(b, p->classes[i], err) < 0)
            return -1;
    }
    if (has_unit && (buf_put_u8(b, (uint8_t)p->unit.kind, err) < 0 ||
                     buf_put_f64(b, p->unit.by, err) < 0 || buf_put_f64(b, p->unit.smear, err) < 0))
        return -1;
    if (has_limits(p) &&
        (buf_put_f64(b, p->limits->least, err) < 0 || buf_put_f64(b, p->limits->most, err) < 0))
        return -1;
    if (adjusts(p) && adjust_save(p->adjust, b, err) < 0)
        return -1;
    return p->n_members > 0 ? 0 : readings_save(p->frame, b, err);
}

static int add_key(struct buf *b, const char *key, struct err *err)
{
    return buf_addf(b, err, ",\"%s\":", key);
}

static int add_texts(struct buf *b, const char *const *texts, int n, struct err *err)
{
    int rc = buf_adds(b, "[", err);

    for (int i = 0; i < n && rc == 0; i++) {
        if (i > 0)
            rc = buf_adds(b, ",", err);
        if (rc == 0)
            rc = json_text_str(b, texts[i], err);
    }
    return rc < 0 ? -1 : buf_adds(b, "]", err);
}

/* A column of the table that the model reads. Its levels and its constraint are those of the input
 * that is the column as it is, where there is one. */
static int add_column(struct buf *b, const struct artifact_parts *a, int c, struct err *err)
{
    const struct prep *p = a->prep;
    bool is_numeric = prep_column_type(p, c) == FRAME_NUMERIC;
    const char *const *levels = NULL;
    int input = prep_plain_of(p, c), n = input < 0 ? 0 : prep_input_levels(p, input, &levels);

    if (buf_adds(b, c > 0 ? ",{\"name\":" : "{\"name\":", err) < 0 ||
        json_text_str(b, prep_column_name(p, c), err) < 0 ||
        buf_addf(b, err, ",\"type\":\"%s\"", is_numeric ? "numeric" : "categorical") < 0)
        return -1;
    if (!is_numeric &&
        (add_key(b, "levels", err) < 0 || add_texts(b, levels, MIN(n, SCHEMA_LEVELS), err) < 0))
        return -1;
    if (a->monotone && input >= 0 && a->monotone[input] &&
        buf_addf(b, err, ",\"monotone\":\"%s\"",
                 a->monotone[input] > 0 ? "increasing" : "decreasing") < 0)
        return -1;
    if (a->importance && (add_key(b, "importance", err) < 0 ||
                          json_text_num(b, floor(a->importance[c] * 1e6 + 0.5) / 1e6, err) < 0))
        return -1;
    return buf_adds(b, "}", err);
}

/* The inputs that steps make of columns: [{"step","columns":[..],"inputs":[..]}]. Left out where
 * every input is a column as it is. */
static int add_steps(struct buf *b, const struct prep *p, struct err *err)
{
    int n = prep_inputs(p), last = -1, n_steps = 0;

    for (int i = 0; i < n; i++) {
        int columns[PREP_SOURCES], k = prep_input_columns(p, i, columns), step = prep_step_of(p, i);
        if (step < 0)
            continue;
        if (step == last) {
            if (buf_adds(b, ",", err) < 0 || json_text_str(b, prep_input_name(p, i), err) < 0)
                return -1;
            continue;
        }
        if (buf_adds(b, n_steps++ == 0 ? ",\"steps\":[{\"step\":" : "]},{\"step\":", err) < 0 ||
            json_text_str(b, prep_input_step(p, i), err) < 0 || add_key(b, "columns", err) < 0)
            return -1;
        const char *names[PREP_SOURCES];
        for (int j = 0; j < k; j++)
            names[j] = prep_column_name(p, columns[j]);
        if (add_texts(b, names, k, err) < 0 || add_key(b, "inputs", err) < 0 ||
            buf_adds(b, "[", err) < 0 || json_text_str(b, prep_input_name(p, i), err) < 0)
            return -1;
        last = step;
    }
    return n_steps > 0 ? buf_adds(b, "]}]", err) : 0;
}

static uint32_t format_of(const struct artifact_parts *p)
{
    if (p->is_pool)
        return ARTIFACT_POOL_FORMAT;
    if (has_limits(p))
        return ARTIFACT_LIMITS_FORMAT;
    if (adjusts(p))
        return p->adjust->power > 0 ? ARTIFACT_POWER_FORMAT : ARTIFACT_ADJUST_FORMAT;
    if (p->n_members > 0)
        return ARTIFACT_ENSEMBLE_FORMAT;
    return p->unit.kind == TARGET_PLAIN ? ARTIFACT_PLAIN_FORMAT : ARTIFACT_UNIT_FORMAT;
}

/* {"kind":"log","plus":0,"smear":1.08} or {"kind":"shift","by":1.7e9}; nothing of a plain one */
static int add_unit(struct buf *b, const struct target_unit *u, struct err *err)
{
    bool is_log = u->kind == TARGET_LOG;

    if (u->kind == TARGET_PLAIN)
        return 0;
    if (add_key(b, "target_unit", err) < 0 ||
        buf_addf(b, err, "{\"kind\":\"%s\",\"%s\":", is_log ? "log" : "shift",
                 is_log ? "plus" : "by") < 0 ||
        json_text_num(b, u->by, err) < 0)
        return -1;
    if (is_log && (add_key(b, "smear", err) < 0 || json_text_num(b, u->smear, err) < 0))
        return -1;
    return buf_adds(b, "}", err);
}

/* {"least":-18171,"most":51838}, in the unit of the table */
static int add_limits(struct buf *b, const struct artifact_parts *p, struct err *err)
{
    double shift = target_shift(&p->unit);

    if (!has_limits(p))
        return 0;
    if (add_key(b, "target_limits", err) < 0 || buf_adds(b, "{\"least\":", err) < 0 ||
        json_text_num(b, p->limits->least + shift, err) < 0 || add_key(b, "most", err) < 0 ||
        json_text_num(b, p->limits->most + shift, err) < 0)
        return -1;
    return buf_adds(b, "}", err);
}

/* "calibration":{"slope","offset"}, "power", "threshold", "intervals":{"rows","most_level"}, each where there is
 * one */
static int add_adjust(struct buf *b, const struct adjust *a, struct err *err)
{
    if (a->calibrates &&
        (add_key(b, "calibration", err) < 0 || buf_adds(b, "{\"slope\":", err) < 0 ||
         json_text_num(b, a->slope, err) < 0 || add_key(b, "offset", err) < 0 ||
         json_text_num(b, a->offset, err) < 0 || buf_adds(b, "}", err) < 0))
        return -1;
    if (a->power > 0 && (add_key(b, "power", err) < 0 || json_text_num(b, a->power, err) < 0))
        return -1;
    if (a->threshold > 0 &&
        (add_key(b, "threshold", err) < 0 || json_text_num(b, a->threshold, err) < 0))
        return -1;
    if (adjust_most_level(a) > 0 &&
        (add_key(b, "intervals", err) < 0 ||
         buf_addf(b, err, "{\"rows\":%lld,\"most_level\":", (long long)a->intervals.rows) < 0 ||
         json_text_num(b, adjust_most_level(a), err) < 0 || buf_adds(b, "}", err) < 0))
        return -1;
    return 0;
}

/* The columns that the models read, and what steps make of them. */
static int add_inputs(struct buf *b, const struct artifact_parts *p, struct err *err)
{
    if (add_key(b, "inputs", err) < 0 || buf_adds(b, "[", err) < 0)
        return -1;
    for (int c = 0; c < prep_columns(p->prep); c++) {
        if (add_column(b, p, c, err) < 0)
            return -1;
    }
    return buf_adds(b, "]", err) < 0 ? -1 : add_steps(b, p->prep, err);
}

/* "rule": "mean" or "pool", and of each member {"weight", "family", "models", "bytes", "score", "score_se", "schema": that of its own file} */
static int add_members(struct buf *b, const struct artifact_parts *p, struct err *err)
{
    if (add_key(b, "rule", err) < 0 || json_text_str(b, p->is_pool ? "pool" : "mean", err) < 0 ||
        add_key(b, "members", err) < 0 || buf_adds(b, "[", err) < 0)
        return -1;
    for (int i = 0; i < p->n_members; i++) {
        const struct artifact_part *m = &p->members[i];
        const struct artifact_info *info = artifact_info(m->file);
        if (buf_adds(b, i > 0 ? ",{\"weight\":" : "{\"weight\":", err) < 0 ||
            json_text_num(b, m->weight, err) < 0 || add_key(b, "family", err) < 0 ||
            json_text_str(b, info->family, err) < 0 ||
            buf_addf(b, err, ",\"models\":%d,\"bytes\":%zu", info->n_models, m->len) < 0 ||
            add_key(b, "score", err) < 0 || json_text_num(b, info->score, err) < 0 ||
            add_key(b, "score_se", err) < 0 || json_text_num(b, info->score_se, err) < 0 ||
            add_key(b, "schema", err) < 0 || buf_adds(b, info->schema_json, err) < 0 ||
            buf_adds(b, "}", err) < 0)
            return -1;
    }
    return buf_adds(b, "]", err);
}

static int write_schema(const struct artifact_parts *p, struct buf *b, struct err *err)
{
    const char *task = p->task == ML_BINARY       ? "binary"
                       : p->task == ML_MULTICLASS ? "multiclass"
                                                  : "regression";

    if (buf_addf(b, err, "{\"format\":%u,\"task\":\"%s\",\"target\":", format_of(p), task) < 0 ||
        json_text_str(b, p->target, err) < 0 || add_key(b, "classes", err) < 0 ||
        add_texts(b, p->classes, p->n_classes, err) < 0 || add_key(b, "family", err) < 0 ||
        json_text_str(b, p->family, err) < 0 || add_key(b, "params", err) < 0 ||
        buf_adds(b, p->params_json && *p->params_json ? p->params_json : "{}", err) < 0 ||
        buf_addf(b, err, ",\"models\":%d", p->n_models) < 0 || add_key(b, "metric", err) < 0 ||
        json_text_str(b, p->metric, err) < 0 || add_key(b, "score", err) < 0 ||
        json_text_num(b, p->score, err) < 0 || add_key(b, "score_se", err) < 0 ||
        json_text_num(b, p->score_se, err) < 0 || add_unit(b, &p->unit, err) < 0 ||
        add_limits(b, p, err) < 0 || (p->adjust && add_adjust(b, p->adjust, err) < 0))
        return -1;
    if ((p->n_members > 0 ? add_members(b, p, err) : add_inputs(b, p, err)) < 0)
        return -1;
    if (p->pipeline_json &&
        (add_key(b, "pipeline", err) < 0 || buf_adds(b, p->pipeline_json, err) < 0))
        return -1;
    return buf_adds(b, "}", err);
}

/* The models section is as large as all else is small: it is hashed and written from the models
 * themselves, so that it is never in memory twice. */

static void put_le(uint8_t *out, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        out[i] = (uint8_t)(v >> (8 * i));
}

static uint64_t models_len(const struct artifact_parts *p)
{
    uint64_t len = 4 + (p->n_members > 0 ? 16 : 0);

    for (int i = 0; i < p->n_members; i++)
        len += 16 + p->members[i].len;
    for (int i = 0; p->n_members == 0 && i < p->n_models; i++)
        len += 8 + p->models[i].len;
    return len;
}

/* A weight and a length. */
static int part_head(const struct artifact_part *m, struct buf *b, struct err *err)
{
    return buf_put_f64(b, m->weight, err) < 0 || buf_put_u64(b, m->len, err) < 0 ? -1 : 0;
}

/* Their number, and what each may predict. */
static int members_head(const struct artifact_parts *p, struct buf *b, struct err *err)
{
    const struct target_limits none = { -INFINITY, INFINITY }, *l = p->limits ? p->limits : &none;

    if (buf_put_u32(b, (uint32_t)p->n_members, err) < 0 || buf_put_f64(b, l->least, err) < 0)
        return -1;
    return buf_put_f64(b, l->most, err);
}

static void members_hash(const struct artifact_parts *p, struct sha256 *h)
{
    struct buf head;

    buf_init(&head, 64);
    CHECK(members_head(p, &head, NULL) == 0);
    sha256_add(h, head.data, head.len);
    buf_fini(&head);
    for (int i = 0; i < p->n_members; i++) {
        buf_init(&head, 64);
        CHECK(part_head(&p->members[i], &head, NULL) == 0);
        sha256_add(h, head.data, head.len);
        sha256_add(h, p->members[i].bytes, p->members[i].len);
        buf_fini(&head);
    }
}

static void models_hash(const struct artifact_parts *p, struct sha256 *h)
{
    uint8_t n[8];

    if (p->n_members > 0) {
        members_hash(p, h);
        return;
    }

    put_le(n, (uint64_t)p->n_models, 4);
    sha256_add(h, n, 4);
    for (int i = 0; i < p->n_models; i++) {
        put_le(n, p->models[i].len, 8);
        sha256_add(h, n, 8);
        sha256_add(h, p->models[i].data, p->models[i].len);
    }
}

static int members_put(const struct artifact_parts *p, struct buf *out, struct err *err)
{
    if (buf_reserve(out, models_len(p), err) < 0 || members_head(p, out, err) < 0)
        return -1;
    for (int i = 0; i < p->n_members; i++) {
        const struct artifact_part *m = &p->members[i];
        if (part_head(m, out, err) < 0 || buf_add(out, m->bytes, m->len, err) < 0)
            return -1;
    }
    return 0;
}

static int models_put(const struct artifact_parts *p, struct buf *out, struct err *err)
{
    if (p->n_members > 0)
        return members_put(p, out, err);
    if (buf_reserve(out, models_len(p), err) < 0 ||
        buf_put_u32(out, (uint32_t)p->n_models, err) < 0)
        return -1;
    for (int i = 0; i < p->n_models; i++) {
        if (buf_put_u64(out, p->models[i].len, err) < 0 ||
            buf_add(out, p->models[i].data, p->models[i].len, err) < 0)
            return -1;
        bool is_much = p->models[i].len >= GIVE_BACK_BYTES;
        if (p->gives_models)
            buf_fini(&p->models[i]);
        /* else they would be held twice after all, as free heap */
        if (p->gives_models && is_much)
            mem_give_back();
    }
    return 0;
}

/* ---- the file ---- */

static int write_entry(const struct artifact_parts *p, int i, const struct buf *sections,
                       uint64_t *at, struct buf *out, struct err *err)
{
    uint64_t len = i == SECTION_MODEL ? models_len(p) : sections[i].len;
    uint8_t digest[SHA256_BYTES];
    struct sha256 h;

    sha256_init(&h);
    if (i == SECTION_MODEL)
        models_hash(p, &h);
    else
        sha256_add(&h, sections[i].data, sections[i].len);
    sha256_end(&h, digest);
    if (buf_add(out, artifact_section_names[i], ARTIFACT_NAME_BYTES, err) < 0 ||
        buf_put_u64(out, *at, err) < 0 || buf_put_u64(out, len, err) < 0 ||
        buf_add(out, digest, sizeof(digest), err) < 0)
        return -1;
    *at += len;
    return 0;
}

static int write_container(const struct artifact_parts *p, const struct buf *sections,
                           struct buf *out, struct err *err)
{
    uint64_t at = ARTIFACT_HEAD_BYTES;

    if (buf_add(out, ARTIFACT_MAGIC, 8, err) < 0 || buf_put_u32(out, format_of(p), err) < 0 ||
        buf_put_u32(out, format_of(p), err) < 0 || buf_put_u32(out, SECTIONS, err) < 0)
        return -1;
    for (int i = 0; i < SECTIONS; i++) {
        if (write_entry(p, i, sections, &at, out, err) < 0)
            return -1;
    }
    for (int i = 0; i < SECTIONS; i++) {
        int rc = i == SECTION_MODEL ? models_put(p, out, err)
                                    : buf_add(out, sections[i].data, sections[i].len, err);
        if (rc < 0)
            return -1;
    }
    return 0;
}

int artifact_write(const struct artifact_parts *p, struct buf *out, struct err *err)
{
    struct buf sections[SECTIONS];
    int rc = -1;

    CHECK(p->n_models >= 1 && p->n_models <= ARTIFACT_MAX_MODELS &&
          p->n_classes <= ARTIFACT_MAX_CLASSES);
    for (int i = 0; i < SECTIONS; i++)
        buf_init(&sections[i], ARTIFACT_MAX_BYTES);
    if (write_info(p, &sections[SECTION_INFO], err) == 0 &&
        write_schema(p, &sections[SECTION_SCHEMA], err) == 0 &&
        (p->n_members > 0 || prep_save(p->prep, &sections[SECTION_PREP], err) == 0))
        rc = write_container(p, sections, out, err);
    for (int i = 0; i < SECTIONS; i++)
        buf_fini(&sections[i]);
    return rc < 0 ? err_wrap(err, "model file") : 0;
}

int artifact_write_ensemble(const struct artifact_part *parts, int n,
                            const struct artifact_together *together, struct buf *out,
                            struct err *err)
{
    CHECK(n >= 2 && n <= ARTIFACT_MAX_MEMBERS);
    const struct artifact_info *info = artifact_info(parts[0].file);
    struct artifact_parts p = { .task = info->task,
                                .target = info->target,
                                .n_classes = info->n_classes,
                                .classes = info->classes,
                                .family = ARTIFACT_ENSEMBLE,
                                .metric = info->metric,
                                .score = together->score,
                                .score_se = together->se,
                                .unit = { TARGET_PLAIN, 0, 1 },
                                .adjust = together->adjust,
                                .members = parts,
                                .n_members = n,
                                .is_pool = together->is_pool,
                                .limits = together->limits };

    /* what float does not hold is left to the shift */
    if (info->unit.kind == TARGET_SHIFTED)
        p.unit = info->unit;
    for (int i = 0; i < n; i++)
        p.n_models += artifact_info(parts[i].file)->n_models;
    return artifact_write(&p, out, err);
}
