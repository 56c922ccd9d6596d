/* amount - numbers with units. */
#include "log/amount.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const amount_units[7] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };

const char *
amount_skip_blanks(const char *p)
{
	return p + strspn(p, " \t");
}

bool
amount_number(const char **p, double *v)
{
	char text[32], *end;
	size_t n = strspn(*p, "0123456789.");

	if (n == 0 || n >= sizeof(text))
		return false;
	memcpy(text, *p, n);
	text[n] = 0;
	*v = strtod(text, &end);
	if (end == text || !isfinite(*v))
		return false;
	*p += end - text;
	return true;
}

double
amount_unit(const char *p)
{
	static const char prefixes[] = "KMGTPE";
	const char *at = memchr(prefixes, toupper((unsigned char)*p), sizeof(prefixes) - 1);

	if (*p == 'B')
		return 1;
	if (at == NULL || *p == 0)
		return 0;
	if (p[1] == 'i' && p[2] == 'B')
		return pow(1024, (double)(at - prefixes + 1));
	return p[1] == 'B' ? pow(1000, (double)(at - prefixes + 1)) : 0;
}

bool
amount_bytes(const char **p, const char *word, double *v)
{
	double unit;

	*p = amount_skip_blanks(*p);
	if (strncmp(*p, word, 2) == 0)
		*p = amount_skip_blanks(*p + 2);
	if (!amount_number(p, v))
		return false;
	*p = amount_skip_blanks(*p);
	if ((unit = amount_unit(*p)) <= 0)
		return false;
	*v *= unit;
	*p += strcspn(*p, " |\t");
	return true;
}

bool
amount_rate(const char **p, double *v)
{
	static const struct { const char *name; double mbit; } units[] = {
		{ "bit/s", 1e-6 }, { "kbit/s", 1e-3 }, { "Mbit/s", 1 }, { "Gbit/s", 1e3 },
	};

	*p = amount_skip_blanks(*p);
	if (!amount_number(p, v))
		return false;
	*p = amount_skip_blanks(*p);
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (strncmp(*p, units[i].name, strlen(units[i].name)) == 0) {
			*v *= units[i].mbit;
			*p += strlen(units[i].name);
			return true;
		}
	return false;
}
