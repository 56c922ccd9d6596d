/* suffix_test - what suffixes say about files. */
#include "source/suffix.h"
#include "tap.h"

#include <stdio.h>

int
main(void)
{
	static const struct {
		const char *name;
		size_t unpacked, archive;
		bool image, raw;
	} t[] = {
		{ "a.jpg", 5, 0, true, false }, { "a.JPEG", 6, 0, true, false }, { "a.webp", 6, 0, true, false },
		{ "a.jfif", 6, 0, true, false }, { "a.JPE", 5, 0, true, false }, { "a.jif", 5, 0, true, false },
		{ "a.dng", 5, 0, true, false }, { "a.jxl", 5, 0, true, false }, { "a.tga", 5, 0, true, false },
		{ "a.PJPEG", 7, 0, true, false }, { "a.apng", 6, 0, true, false }, { "a.qoi", 5, 0, true, false },
		{ "a.tga.gz", 5, 0, false, false }, { "a.jpg.gz", 5, 0, false, false },
		{ "a.tar", 5, 1, false, false }, { "a.tar.gz", 5, 1, false, false },
		{ "b/a.TGZ", 7, 3, false, false }, { "a.7z", 4, 1, false, false }, { "a.cpio.Z", 6, 1, false, false },
		{ "data.bin", 8, 0, false, true }, { "data.bin.xz", 8, 0, false, true },
		{ "x-idx3-ubyte.gz", 12, 0, false, true }, { "tar", 3, 0, false, false },
		    { ".tar", 4, 0, false, false },
		{ "a.tar.b", 7, 0, false, false }, { "jpg", 3, 0, false, false }, { "", 0, 0, false, false },
	};

	static const char *const not_read[] = {
		".3ds", ".3fr", ".arw", ".avci", ".bpg", ".btf", ".cr2", ".cr3", ".crw", ".cur", ".dcm", ".dcr",
		".dds", ".djvu", ".dng", ".dpx", ".emf", ".eps", ".erf", ".exr", ".ff", ".fits", ".flif", ".fts",
		".g3", ".hdp", ".hdr", ".heics", ".icb", ".icns", ".ico", ".ief", ".iiq", ".j2c", ".j2k", ".jls",
		".jng", ".jp2", ".jpc", ".jpf", ".jpm", ".jpx", ".jxr", ".jxs", ".kdc", ".ktx2", ".mng", ".mrw",
		".nef", ".nrw", ".ora", ".orf", ".pam", ".pcd", ".pct", ".pcx", ".pef", ".pfm", ".pict", ".psb",
		".psd", ".qoi", ".raf", ".ras", ".raw", ".rgb", ".rw2", ".rwl", ".sgi", ".sr2", ".srf", ".srw", ".sun",
		".svg", ".svgz", ".tga", ".vda", ".wbmp", ".wdp", ".wmf", ".x3f", ".xbm", ".xcf", ".xpm", ".xwd",
		".yuv",
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		is(suffix_unpacked(t[i].name), t[i].unpacked,
		    "suffix_unpacked cuts '%s'", t[i].name);
		is(suffix_archive(t[i].name), t[i].archive, "suffix_archive cuts '%s'", t[i].name);
		ok(suffix_is_image(t[i].name) == t[i].image && suffix_is_raw(t[i].name) == t[i].raw,
		    "'%s' is classified as an image, raw or neither", t[i].name);
	}
	for (size_t i = 0; i < sizeof(not_read) / sizeof(*not_read); i++) {
		char name[32];

		snprintf(name, sizeof(name), "a.b/c.d%s", not_read[i]);
		is_str(suffix_not_read(name), not_read[i], "%s is known as not read", not_read[i]);
	}
	ok(suffix_not_read(".tga") == NULL && suffix_not_read("a.tga/b") == NULL,
	    "a bare .tga and a file in a folder of this suffix are not");
	is_str(suffix_not_read("a/b.TGA"), ".tga", "a .TGA is not read");
	ok(suffix_not_read("a.png") == NULL && suffix_not_read("tga") == NULL, "a .png and a file without a suffix are");
	return done();
}
