/* base.h - the few macros that every file may use. It has no types and no state, and it includes
 * nothing, so that CUDA sources can include it too. */
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

/* Ends the process with a core dump if `expr` is false. Use it for what only a bug in this program
 * can break, next to the code that keeps the rule. Never use it for input: what a user, a peer, a
 * file or a stored row says must be an error instead. */
#define CHECK(expr) ((expr) ? (void)0 : base_check_failed(#expr, __FILE__, __LINE__, __func__))
void base_check_failed(const char *expr, const char *file, int line, const char *func) NO_RETURN;

#ifdef __cplusplus
}
#endif
#endif
