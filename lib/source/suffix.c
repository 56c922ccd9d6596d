/* suffix - classifies file names by their suffix, in any case. */
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

/* The length of the listed suffix that the name of n bytes has, or 0. */
static size_t
match_suffix(const char *name, size_t n, const char *const *suffixes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (suffix_is(name, n, suffixes[i]))
			return strlen(suffixes[i]);
	return 0;
}

size_t
suffix_unpacked(const char *name)
{
	static const char *const packed[] = { ".gz", ".xz", ".bz2", ".zst", ".lz4", ".lzma", ".lz", ".Z" };
	size_t n = strlen(name);

	return n - match_suffix(name, n, packed, COUNT(packed));
}

size_t
suffix_archive(const char *name)
{
	static const char *const packed_archive[] = { ".tgz", ".tbz", ".tbz2", ".txz", ".tlz", ".tzst" };
	static const char *const archive[] = { ".tar", ".zip", ".7z", ".rar", ".cpio", ".iso", ".cab", ".lha", ".lzh",
		".xar", ".ar", ".pax", ".warc" };
	size_t n = strlen(name), k = match_suffix(name, n, packed_archive, COUNT(packed_archive));

	if (k == 0) {
		n = suffix_unpacked(name);
		k = match_suffix(name, n, archive, COUNT(archive));
	}
	return k > 0 ? n - k : 0;
}

const char *
suffix_not_read(const char *name)
{
	static const char *const known[] = {
		".pam", ".pfm", ".jp2", ".j2k", ".j2c", ".jpm", ".jpx", ".jxr", ".tga", ".psd", ".psb", ".xcf", ".ico",
		".icns", ".cur", ".pcx", ".dds", ".exr", ".hdr", ".qoi", ".ff", ".svg", ".svgz", ".heics", ".avifs",
		".dng", ".cr2", ".cr3", ".nef", ".arw", ".orf", ".rw2", ".raf", ".srw", ".3fr", ".raw",
	};
	size_t n = strlen(name);

	for (size_t i = 0; i < COUNT(known); i++)
		if (suffix_is(name, n, known[i]))
			return known[i];
	return NULL;
}

bool
suffix_is_image(const char *name)
{
	static const char *const images[] = {
		".jpg", ".jpeg", ".jpe", ".jif", ".jfif", ".jfi", ".pjpeg", ".png", ".apng", ".webp", ".bmp", ".dib",
		".gif", ".tif", ".tiff", ".pnm", ".pbm", ".pgm", ".ppm", ".heic", ".heif", ".hif", ".avif", ".jxl",
	};

	return match_suffix(name, strlen(name), images, COUNT(images)) > 0 || suffix_not_read(name) != NULL;
}

bool
suffix_is_raw(const char *name)
{
	static const char *const raw[] = { ".bin", "-ubyte" };

	return match_suffix(name, suffix_unpacked(name), raw, COUNT(raw)) > 0;
}
