/*
 * log_callback - log_fn lines for the caller: the library itself prints nothing.
 */
#ifndef BASE_LOG_CALLBACK_H
#define BASE_LOG_CALLBACK_H

typedef void log_callback_fn(void *arg, const char *line);

/* Formats a line, cuts it after 1023 bytes and calls log_fn(arg, line).  If log_fn is NULL, does nothing. */
void	 log_callback_line(log_callback_fn *log_fn, void *arg, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
