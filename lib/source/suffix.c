/* suffix - classifies file names by their suffix, in any case. */
#include "source/suffix.h"

#include <stdlib.h>
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

static int
compare_suffix(const void *suffix, const void *known)
{
	return strcasecmp(suffix, *(const char *const *)known);
}

/*
 * The endings of image/... in shared-mime-info and in IANA's media types, of the raw files of cameras that LibRaw
 * reads, and of ImageMagick's formats that are images alone.
 */
const char *
suffix_not_read(const char *name)
{
	static const char *const known[] = {	/* sorted */
		".3ds", ".3fr", ".aai", ".afphoto", ".ag", ".ari", ".art", ".arw", ".astc", ".avci", ".avcs", ".avifs",
		".avs", ".azv", ".b16", ".bay", ".blp", ".bpg", ".btf", ".btif", ".bufr", ".bw", ".cal", ".cals",
		".cdr", ".cdt", ".cgm", ".cin", ".cpt", ".cr2", ".cr3", ".crw", ".cs1", ".cur", ".dcm", ".dcr", ".dcs",
		".dcx", ".dds", ".djv", ".djvu", ".dng", ".dpx", ".drf", ".drle", ".dwg", ".dxf", ".eip", ".emf",
		".eps", ".epsf", ".epsi", ".ept", ".erf", ".exr", ".farbfeld", ".fbs", ".ff", ".fff", ".fig", ".fit",
		".fits", ".fl32", ".flif", ".fpx", ".fst", ".fts", ".ftu", ".g3", ".g4", ".gbr", ".gih", ".gpr",
		".grib", ".hdp", ".hdr", ".heics", ".heifs", ".hej2", ".hrz", ".hsj2", ".icb", ".icns", ".ico", ".ief",
		".iff", ".iiq", ".ilbm", ".j2c", ".j2k", ".jbg", ".jbig", ".jhc", ".jls", ".jng", ".jp2", ".jpc",
		".jpf", ".jpg2", ".jpgm", ".jph", ".jphc", ".jpm", ".jpt", ".jpx", ".jxr", ".jxra", ".jxrs", ".jxs",
		".jxsc", ".jxsi", ".jxss", ".k25", ".kc2", ".kdc", ".kra", ".ktx", ".ktx2", ".lbm", ".lwo", ".lwob",
		".lws", ".mdi", ".mdp", ".mef", ".miff", ".mmr", ".mng", ".mos", ".mrw", ".mrxs", ".msod", ".msp",
		".mtv", ".ndpi", ".nef", ".nii", ".nrw", ".ora", ".orf", ".ori", ".otb", ".palm", ".pam", ".pat",
		".pcd", ".pcds", ".pct", ".pcx", ".pdn", ".pef", ".pfim", ".pfm", ".pgb", ".pgx", ".phm", ".picon",
		".pict", ".pict1", ".pict2", ".pntg", ".ppmx", ".psb", ".psd", ".psp", ".pspimage", ".pti", ".ptx",
		".pxn", ".pxr", ".qif", ".qoi", ".qtif", ".raf", ".ras", ".raw", ".rgb", ".rgba", ".rgbe", ".rgf",
		".rla", ".rlc", ".rle", ".rmf", ".rp", ".rw2", ".rwl", ".rwz", ".s1g", ".s1j", ".s1n", ".sgi", ".sgif",
		".six", ".sixel", ".sjp", ".sjpg", ".sk", ".sk1", ".spn", ".spng", ".sr2", ".srf", ".srw", ".sti",
		".sun", ".svg", ".svgz", ".svs", ".tap", ".tfx", ".tga", ".tim", ".tm2", ".tpic", ".uvg", ".uvi",
		".uvvg", ".uvvi", ".vda", ".vicar", ".viff", ".vips", ".vms", ".vmu", ".vst", ".vtf", ".wbmp", ".wdp",
		".wmf", ".wpg", ".x3f", ".xbm", ".xcf", ".xif", ".xpm", ".xv", ".xwd", ".xyze", ".yuv",
	};
	const char *dot = strrchr(name, '.'), *const *at = NULL;

	if (dot != NULL && dot > name)
		at = bsearch(dot, known, COUNT(known), sizeof(*known), compare_suffix);
	return at != NULL ? *at : NULL;
}

bool
suffix_is_image(const char *name)
{
	static const char *const images[] = {
		".jpg", ".jpeg", ".jpe", ".jif", ".jfif", ".jfi", ".pjpeg", ".pjp", ".mpo", ".jps", ".png", ".apng",
		".webp", ".bmp", ".dib", ".gif", ".tif", ".tiff", ".ptif", ".ptiff", ".pnm", ".pbm", ".pgm", ".ppm",
		".heic", ".heif", ".hif", ".avif", ".jxl",
	};

	return match_suffix(name, strlen(name), images, COUNT(images)) > 0 || suffix_not_read(name) != NULL;
}

bool
suffix_is_raw(const char *name)
{
	static const char *const raw[] = { ".bin", "-ubyte" };

	return match_suffix(name, suffix_unpacked(name), raw, COUNT(raw)) > 0;
}

bool
suffix_is_list(const char *name)
{
	return suffix_is(name, strlen(name), ".lst");
}
