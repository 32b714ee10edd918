/* shape.c - see shape.h. */
#include "ml/text/shape.h"

#include "base/base.h"
#include "ml/text/words.h"

#include <stdbool.h>
#include <stdint.h>

static const char *const names[] = {
    "characters",           "words",  "word length",      "share of digits", "share of capitals",
    "share of punctuation", "digits", "punctuation marks"
};

const char *shape_name(enum shape_part part)
{
    return names[part];
}

/* What one character is. */
struct sign {
    bool letter, digit, upper, mark;
};

/* Of ASCII, without a branch. */
static inline struct sign sign_ascii(uint8_t c)
{
    bool digit = (uint8_t)(c - '0') < 10, upper = (uint8_t)(c - 'A') < 26;
    bool letter = digit | ((uint8_t)((c | 0x20) - 'a') < 26) | (c == '_');

    return (struct sign){ letter, digit, upper, !letter & (c > ' ') };
}

static struct sign sign_of(uint32_t c)
{
    bool letter = words_letter(c);

    return (struct sign){ letter, c >= '0' && c <= '9', words_fold(c) != c, !letter && c > ' ' };
}

void shape_of(const char *text, size_t n, float out[SHAPE_PARTS])
{
    size_t end = MIN(n, (size_t)SHAPE_MOST_BYTES), n_chars = 0, n_words = 0, n_letters = 0,
           n_digits = 0, n_upper = 0, n_marks = 0;
    bool in_word = false;

    for (size_t at = 0; at < end; n_chars++) {
        uint8_t byte = (uint8_t)text[at];
        struct sign s = byte < 0x80 ? sign_ascii(byte) : sign_of(words_next(text, end, &at));
        at += byte < 0x80;
        n_words += s.letter & !in_word;
        in_word = s.letter;
        n_letters += s.letter;
        n_digits += s.digit;
        n_upper += s.upper;
        n_marks += s.mark;
    }
    double chars = (double)n_chars, words = (double)n_words, letters = (double)n_letters;
    double digits = (double)n_digits, upper = (double)n_upper, marks = (double)n_marks;
    double all = chars > 0 ? chars : 1;
    out[SHAPE_CHARS] = (float)(end > 0 ? chars * (double)n / (double)end : 0);
    out[SHAPE_WORDS] = (float)words;
    out[SHAPE_LENGTH] = (float)(words > 0 ? letters / words : 0);
    out[SHAPE_DIGITS] = (float)(digits / all);
    out[SHAPE_UPPER] = (float)(upper / all);
    out[SHAPE_MARKS] = (float)(marks / all);
    out[SHAPE_DIGIT_COUNT] = (float)digits;
    out[SHAPE_MARK_COUNT] = (float)marks;
}
