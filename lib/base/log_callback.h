/*
 * log_callback - a line for whoever was given to listen: the library prints nothing itself.
 */
#ifndef BASE_LOG_CALLBACK_H
#define BASE_LOG_CALLBACK_H

typedef void log_callback_fn(void *arg, const char *line);

/* to(arg, line) with the line that fmt makes, cut off behind 1023 bytes; to NULL: nobody listens. */
void	 log_callback_line(log_callback_fn *to, void *arg, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
