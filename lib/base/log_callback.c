/* log_callback - log lines for the caller: the library itself prints nothing. */
#include "base/log_callback.h"

#include <stdarg.h>
#include <stdio.h>

void
log_callback_line(log_callback_fn *log_fn, void *arg, const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	if (log_fn == NULL)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	log_fn(arg, line);
}
