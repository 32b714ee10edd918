/* choice.c - the names and words of choice.def. Called by ml/model/variant.c. */
#include "ml/prep/choice.h"

#include "base/base.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *words;
} choices[PREP_CHOICES] = {
#define CHOICE(NAME, name, words) [PREP_OF_##NAME] = { name, words },
#include "ml/prep/choice.def"
#undef CHOICE
};

/* The word that begins here, without the bar behind it. */
static size_t word_length(const char *word)
{
    return strcspn(word, "|");
}

bool prep_choice_set(struct prep_choice *c, const char *name, const char *word)
{
    for (int i = 0; i < PREP_CHOICES; i++) {
        const char *at = choices[i].words;

        if (strcmp(choices[i].name, name) != 0)
            continue;
        for (int k = 0; *at; k++) {
            size_t length = word_length(at);
            if (strlen(word) == length && memcmp(at, word, length) == 0) {
                c->of[i] = (uint8_t)k;
                return true;
            }
            at += length + (at[length] == '|');
        }
    }
    return false;
}

bool prep_choice_is_auto(const struct prep_choice *c)
{
    static const struct prep_choice none;

    return memcmp(c, &none, sizeof none) == 0;
}

void prep_choice_text(const struct prep_choice *c, char *out, size_t size)
{
    size_t n = 0;

    out[0] = '\0';
    for (int i = 0; i < PREP_CHOICES; i++) {
        const char *at = choices[i].words;

        for (int k = 0; k < c->of[i]; k++)
            at += word_length(at) + 1;
        if (c->of[i] > 0 && n < size)
            n += (size_t)snprintf(out + n, size - n, "%s%s %.*s", n > 0 ? ", " : "",
                                  choices[i].name, (int)word_length(at), at);
    }
    CHECK(n < size);
}
