/* suffix - what the ending of a file's name says about it; letters' case is of no matter. */
#include "source/suffix.h"

#include <string.h>
#include <strings.h>

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

bool
suffix_is(const char *name, size_t n, const char *end)
{
	size_t k = strlen(end);

	return n > k && strncasecmp(name + n - k, end, k) == 0;
}

/* The length of the ending that the n bytes of a name have; 0: none of these. */
static size_t
which(const char *name, size_t n, const char *const *ends, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (suffix_is(name, n, ends[i]))
			return strlen(ends[i]);
	return 0;
}

size_t
suffix_unpacked(const char *name)
{
	static const char *const packed[] = { ".gz", ".xz", ".bz2", ".zst", ".lz4", ".lzma", ".lz", ".Z" };
	size_t n = strlen(name);

	return n - which(name, n, packed, COUNT(packed));
}

size_t
suffix_archive(const char *name)
{
	static const char *const both[] = { ".tgz", ".tbz", ".tbz2", ".txz", ".tlz", ".tzst" };
	static const char *const archive[] = { ".tar", ".zip", ".7z", ".rar", ".cpio", ".iso", ".cab", ".lha", ".lzh",
		".xar", ".ar", ".pax", ".warc" };
	size_t n = strlen(name), k = which(name, n, both, COUNT(both));

	if (k == 0) {
		n = suffix_unpacked(name);
		k = which(name, n, archive, COUNT(archive));
	}
	return k > 0 ? n - k : 0;
}

bool
suffix_is_image(const char *name)
{
	static const char *const pictures[] = { ".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".heic", ".avif", ".tif",
		".tiff", ".ppm", ".pgm" };

	return which(name, strlen(name), pictures, COUNT(pictures)) > 0;
}

bool
suffix_is_raw(const char *name)
{
	static const char *const raw[] = { ".bin", "-ubyte" };

	return which(name, suffix_unpacked(name), raw, COUNT(raw)) > 0;
}
