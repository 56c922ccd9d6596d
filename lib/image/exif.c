/* exif - reads the orientation from EXIF metadata. */
#include "image/exif.h"

#include <stdbool.h>
#include <string.h>

#define ORIENTATION	0x112u
#define SHORT		3u
#define ENTRY		12u		/* bytes: tag, type, count, value */

static uint32_t
read_number(const uint8_t *p, unsigned bytes, bool big)
{
	uint32_t v = 0;

	for (unsigned i = 0; i < bytes; i++)
		v |= (uint32_t)p[i] << 8 * (big ? bytes - 1 - i : i);
	return v;
}

struct exif
exif_read(const uint8_t *p, size_t n)
{
	struct exif none = { .orientation = 1 };
	size_t start = n >= 6 && memcmp(p, "Exif\0\0", 6) == 0 ? 6 : 0, at;
	uint32_t first, entries;
	bool big;

	if (n - start < 8)
		return none;
	big = p[start] == 'M';
	if (memcmp(p + start, big ? "MM\0*" : "II*\0", 4) != 0)
		return none;
	first = read_number(p + start + 4, 4, big);
	if (first > n - start || n - start - first < 2)
		return none;
	at = start + first;
	entries = read_number(p + at, 2, big);
	for (at += 2; entries-- > 0 && n - at >= ENTRY; at += ENTRY) {
		uint32_t v = read_number(p + at + 8, 2, big);

		if (read_number(p + at, 2, big) == ORIENTATION)
			return read_number(p + at + 2, 2, big) == SHORT && v >= 1 && v <= 8
			    ? (struct exif){ .orientation = v, .at = at + 8 } : none;
	}
	return none;
}

/* The byte order follows from which of the two bytes holds the value. */
void
exif_set_upright(uint8_t *p, const struct exif *x)
{
	if (x->at > 0)
		p[x->at + (p[x->at] == 0)] = 1;
}
