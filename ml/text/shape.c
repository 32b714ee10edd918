/* shape.c - see shape.h. */
#include "ml/text/shape.h"

#include "base/base.h"
#include "ml/text/words.h"

static const char *const names[] = {
    "characters",           "words",  "word length",      "share of digits", "share of capitals",
    "share of punctuation", "digits", "punctuation marks"
};

const char *shape_name(enum shape_part part)
{
    return names[part];
}

void shape_of(const char *text, size_t n, float out[SHAPE_PARTS])
{
    size_t end = MIN(n, (size_t)SHAPE_MOST_BYTES);
    double chars = 0, words = 0, letters = 0, digits = 0, upper = 0, marks = 0;
    bool in_word = false;

    for (size_t at = 0; at < end; chars += 1) {
        uint32_t c = words_next(text, end, &at);
        bool letter = words_letter(c);
        words += letter && !in_word;
        in_word = letter;
        letters += letter;
        digits += c >= '0' && c <= '9';
        upper += words_fold(c) != c;
        marks += !letter && c > ' ';
    }
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
