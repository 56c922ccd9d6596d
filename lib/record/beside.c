/* beside - the names of the files beside a .rec. */
#include "record/beside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *
beside_name(const char *rec, const char *ending)
{
	size_t stem = strlen(rec);
	char *name;

	if (stem > 4 && strcmp(rec + stem - 4, ".rec") == 0)
		stem -= 4;
	return asprintf(&name, "%.*s%s", (int)stem, rec, ending) < 0 ? NULL : name;
}
