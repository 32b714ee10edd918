/* csv_format.c - the formats that csv_format.h recognises. Called by csv.c. */
#include "ml/read/csv_format.h"

#include "base/base.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define PANDAS "convert it, e.g. with pandas: "

struct magic {
    const char *text;
    size_t n;
    const char *what;
};

/* These could also begin a column's name, so a control byte must follow. What gzip, xz and zstd pack
 * is unpacked before it comes here (base/gz.h). */
static const struct magic magics[] = {
    { "PAR1", 4, "Parquet, and cut short" },
    { "ARROW1", 6, "Arrow, and cut short" },
    { "FEA1", 4, "Feather of version 1, which is no longer written: save it again as version 2" },
    { "ORC", 3, "ORC; " PANDAS "pd.read_orc(FILE).to_csv(\"table.csv\", index=False)" },
    { "Obj\x01", 4, "Avro; convert it to CSV" },
    { "\x89HDF", 4, "HDF5; " PANDAS "pd.read_hdf(FILE).to_csv(\"table.csv\", index=False)" },
    { "SQLite format 3", 16,
      "an SQLite database; write a table of it as CSV: sqlite3 has .mode csv and .output" },
    { "PK\x03\x04", 4, "a ZIP archive or an Excel workbook; unpack it, or save the sheet as CSV" },
    { "\xd0\xcf\x11\xe0", 4, "an old Excel workbook; save the sheet as CSV" },
    { "BZh", 3, "compressed with bzip2; unpack it (bunzip2), or pack it with gzip" },
    { "\xfd"
      "7zXZ",
      5, "packed twice, inside with xz; unpack it once" },
    { "\x28\xb5\x2f\xfd", 4, "packed twice, inside with zstd; unpack it once" },
    { "\x1f\x8b", 2, "packed twice, inside with gzip; unpack it once" },
    { "\x93NUMPY", 6,
      "a NumPy array; write it as CSV: numpy.savetxt(\"table.csv\", a, delimiter=\",\")" },
};
/* These could not. */
static const struct magic sure_magics[] = {
    { "%PDF-", 5, "a PDF; a table is read as CSV" },
    { "\xff\xfe\0\0", 4, "UTF-32; convert it: iconv -f UTF-32 -t UTF-8" },
    { "\0\0\xfe\xff", 4, "UTF-32; convert it: iconv -f UTF-32 -t UTF-8" },
    { "\xff\xfe", 2, "UTF-16; convert it: iconv -f UTF-16 -t UTF-8" },
    { "\xfe\xff", 2, "UTF-16; convert it: iconv -f UTF-16 -t UTF-8" },
};

/* bytes below a tab occur in no text */
enum { LOOK_BYTES = 4096, FIRST_TEXT = 9 };

static const char *magic_of(const struct magic *m, size_t n_magics, const char *text, size_t n)
{
    for (size_t i = 0; i < n_magics; i++) {
        if (n >= m[i].n && memcmp(text, m[i].text, m[i].n) == 0)
            return m[i].what;
    }
    return NULL;
}

static bool is_binary(const char *text, size_t n)
{
    for (size_t i = 0; i < n && i < LOOK_BYTES; i++) {
        if ((unsigned char)text[i] < FIRST_TEXT)
            return true;
    }
    return false;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static size_t skip_spaces(const char *text, size_t n, size_t at)
{
    while (at < n && is_space(text[at]))
        at++;
    return at;
}

const char *csv_format_other(const char *text, size_t n)
{
    const char *what = magic_of(sure_magics, ARRAY_LEN(sure_magics), text, n);

    if (!what && is_binary(text, n))
        what = magic_of(magics, ARRAY_LEN(magics), text, n);
    if (what)
        return what;
    size_t at = skip_spaces(text, n, 0);
    if (n - at >= 5 &&
        (strncasecmp(text + at, "<html", 5) == 0 || strncasecmp(text + at, "<!doc", 5) == 0 ||
         strncmp(text + at, "<?xml", 5) == 0))
        return "HTML or XML, perhaps an error page saved as a table; a table is read as CSV";
    return NULL;
}
