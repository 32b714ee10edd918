/* base.h - the few macros that every file may use. No types, no state. */
#ifndef BASE_BASE_H
#define BASE_BASE_H

#ifdef __cplusplus
extern "C" {
#endif

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b)    ((a) < (b) ? (a) : (b))
#define MAX(a, b)    ((a) > (b) ? (a) : (b))

#if defined(__GNUC__)
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define NO_RETURN              __attribute__((noreturn))
#else
#define PRINTF_LIKE(fmt, args)
#define NO_RETURN
#endif

/* A broken invariant is a bug: print where and what, then abort. Never for user input. */
#define CHECK(expr) ((expr) ? (void)0 : base_check_failed(#expr, __FILE__, __LINE__, __func__))
void base_check_failed(const char *expr, const char *file, int line, const char *func) NO_RETURN;

#ifdef __cplusplus
}
#endif
#endif
