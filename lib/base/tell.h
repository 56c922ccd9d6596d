/*
 * tell - a line for whoever was given to listen: the library prints nothing itself.
 */
#ifndef BASE_TELL_H
#define BASE_TELL_H

typedef void tell_fn(void *arg, const char *line);

/* to(arg, line) with the line that fmt makes, cut off behind 1023 bytes; to NULL: nobody listens. */
void	 tell_line(tell_fn *to, void *arg, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
