#!/usr/bin/env python3
"""Makes resize_pillow.h: hashes of images that Pillow resized.  python3 resize.py > resize_pillow.h"""
import PIL
from PIL import Image

W, H = 160, 120
FILTERS = [("RESIZE_BILINEAR", Image.Resampling.BILINEAR), ("RESIZE_CUBIC", Image.Resampling.BICUBIC),
           ("RESIZE_LANCZOS", Image.Resampling.LANCZOS)]
SIZES = [(40, 30), (61, 33), (159, 119), (17, 13), (7, 5), (200, 151)]


def pixel(kind, x, y):
    """A checkerboard, black and white rings, noise, slopes."""
    return [(x // 5 + y // 5) % 2 * 255, (x * x + y * y) // 512 % 2 * 255, (y * W + x) * 2654435761 % 2**32 >> 24,
            (3 * x + 2 * y) % 256][kind]


def fnv(data):
    h = 2166136261
    for b in data:
        h = (h ^ b) * 16777619 % 2**32
    return h


print("/* resize_pillow - hashes of images that Pillow %s resized; made by resize.py. */" % PIL.__version__)
print("static const struct { uint32_t kind, c; enum resize_inter inter; uint32_t w, h, hash; } pillow[] = {")
for kind in range(4):
    grey = Image.new("L", (W, H))
    grey.putdata([pixel(kind, x, y) for y in range(H) for x in range(W)])
    turned = grey.transpose(Image.Transpose.ROTATE_180)
    for c, image in (1, grey), (3, Image.merge("RGB", (grey, turned, grey))):
        for name, filter in FILTERS:
            for w, h in SIZES:
                print("\t{ %d, %d, %s, %d, %d, 0x%08xu }," % (kind, c, name, w, h, fnv(image.resize((w, h), filter).tobytes())))
print("};")
