/* csv_scan.h - private to the CSV reader: where fields and rows end. */
#ifndef ML_READ_CSV_SCAN_H
#define ML_READ_CSV_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CSV_SCAN_STEP = 64
}; /* text is read in steps: CSV_SCAN_STEP readable bytes past the end are needed */

enum csv_scan_fault {
    CSV_SCAN_OK,
    CSV_SCAN_NUL,
    CSV_SCAN_CR,
    CSV_SCAN_QUOTE_OPEN,
    CSV_SCAN_QUOTE_CLOSE
};

struct csv_scan {
    uint32_t *ends; /* out: places of the delimiters and line feeds outside quotes, ascending */
    size_t n_ends, cap_ends;
    size_t n_lines;                         /* line feeds among them */
    size_t n_feeds;                         /* line feeds anywhere */
    bool has_quotes, has_escapes, has_high; /* any quote, doubled quote, non-ASCII byte */
    bool in_quotes;                         /* the text ends inside a quoted field */
    enum csv_scan_fault fault;
    size_t fault_at;
};

/* Scans n bytes that start at the start of a row. *ends must have room for every byte (cap_ends >= n). Stops at the first
 * fault: a NUL, a carriage return that no line feed follows, a quote inside an unquoted field, text after a closing quote. */
void csv_scan(struct csv_scan *s, const uint8_t *text, size_t n, char delimiter);
void csv_scan_portable(struct csv_scan *s, const uint8_t *text, size_t n,
                       char delimiter); /* the same, for tests */
/* Offset of the first byte that is not UTF-8, or n. */
size_t csv_utf8_fault(const uint8_t *text, size_t n);

#endif
