/* limit - names the option of a limit in the message of an item that is over it. */
#include "im2rec/im2rec.h"

#include "base/err.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void
add_option(const char *limit, const char *option)
{
	char line[ERR_LINE];
	size_t n = strlen(limit), len;

	snprintf(line, sizeof(line), "%s", err_line());
	len = strlen(line);
	if (len >= n && strcmp(line + len - n, limit) == 0)
		err_note(0, "%s; %s raises this limit", line, option);
}

void
im2rec_name_limit(const struct im2rec *o)
{
	char text[64];

	snprintf(text, sizeof(text), "more than %" PRIu32 " pixels", o->pack.conv.pixels);
	add_option(text, "--max-pixels");
	snprintf(text, sizeof(text), "longer than %zu bytes", o->in.bytes);
	add_option(text, "--max-bytes");
}
