/* log_callback - a line for whoever was given to listen: the library prints nothing itself. */
#include "base/log_callback.h"

#include <stdarg.h>
#include <stdio.h>

void
log_callback_line(log_callback_fn *to, void *arg, const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	if (to == NULL)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	to(arg, line);
}
