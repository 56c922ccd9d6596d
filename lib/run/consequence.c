/* consequence - marks the line by which a process reports that it lost its peer. */
#include "run/consequence.h"

#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VARIABLE "TALLY_STDERR"
#define TEXT	 48

static int
describe_stderr(char text[TEXT])
{
	struct stat st;

	if (fstat(STDERR_FILENO, &st) < 0)
		return err_sys("standard error");
	snprintf(text, TEXT, "%llu:%llu", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	return 0;
}

int
consequence_announce(void)
{
	char text[TEXT];

	ERR_TRY(describe_stderr(text));
	return setenv(VARIABLE, text, 1) == 0 ? 0 : err_sys("setenv");
}

bool
consequence_is_read(void)
{
	const char *announced = getenv(VARIABLE);
	char text[TEXT];

	return announced != NULL && describe_stderr(text) == 0 && strcmp(announced, text) == 0;
}
