/* csv_scan.h - private to the CSV reader: finds where fields and rows end. */
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
    /* out: places of the delimiters and line feeds outside quotes, ascending */
    uint32_t *ends;
    size_t n_ends, cap_ends;
    /* line feeds among them */
    size_t n_lines;
    /* line feeds anywhere */
    size_t n_feeds;
    /* there is a quote, a doubled quote, a byte that is not ASCII */
    bool has_quotes, has_escapes, has_high;
    /* the text ends within a quoted field */
    bool in_quotes;
    enum csv_scan_fault fault;
    size_t fault_at;
};

/* Scans n bytes that begin at the start of a row. *ends must have room for every byte (cap_ends >=
 * n). Stops at the first fault: a NUL, a carriage return without a line feed after it, a quote
 * inside an unquoted field, text after a closing quote. */
void csv_scan(struct csv_scan *s, const uint8_t *text, size_t n, char delimiter);
/* the same in plain C, for tests */
void csv_scan_portable(struct csv_scan *s, const uint8_t *text, size_t n, char delimiter);
/* Offset of the first byte that is not UTF-8, or n. */
size_t csv_utf8_fault(const uint8_t *text, size_t n);

#endif
