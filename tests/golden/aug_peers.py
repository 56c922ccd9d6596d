# aug_peers - what MXNet, OpenCV and Pillow make of a small picture, as the C tables of aug_peers.h.
#
#	python3 tests/golden/aug_peers.py > tests/golden/aug_peers.h
#
# With mxnet 1.9.1, opencv-python 4.8 and pillow 13: run by hand, once.
import os
import tempfile

import cv2
import mxnet as mx
import numpy as np
from PIL import Image, ImageEnhance

H, W = 24, 20
y, x, c = np.mgrid[0:H, 0:W, 0:3]
picture = (10 + 5 * x + 4 * y + 20 * c + 8 * ((x // 3 + y // 4 + c) & 1)).astype(np.uint8)


def table(name, v):
    v = np.asarray(v)
    kind = "uint8_t" if v.dtype == np.uint8 else "float"
    text = [str(a) if kind == "uint8_t" else f"{a:.7g}".replace("nan", "0") for a in v.ravel()]
    if kind == "float":
        text = [(a if set(a) & set(".e") else a + ".0") + "f" for a in text]
    per = 24 if kind == "uint8_t" else 10
    print(f"\nstatic const {kind} peers_{name}[] = {{")
    for i in range(0, len(text), per):
        print("\t" + ", ".join(text[i:i + per]) + ",")
    print("};")


def planes(pixels):
    return np.ascontiguousarray(pixels.transpose(2, 0, 1))


def iterate(shape, **options):
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "a.rec")
        rec = mx.recordio.MXRecordIO(path, "w")
        for i in range(2):
            rec.write(mx.recordio.pack_img(mx.recordio.IRHeader(0, 0, i, 0), picture[:, :, ::-1], 9, ".png"))
        rec.close()
        it = mx.io.ImageRecordIter(path_imgrec=path, data_shape=shape, batch_size=1, preprocess_threads=1,
                                   verbose=False, **options)
        return it.next().data[0].asnumpy()[0]


def levels(v):
    return np.rint(v).astype(np.uint8)


def red(v):
    return levels(v)[:1]


def mxnet():
    # How hue, saturation and lightness go round: OpenCV's own conversion.
    hls = cv2.cvtColor(picture[7:17, 4:16], cv2.COLOR_RGB2HLS).astype(int)
    hls[:, :, 0] = (hls[:, :, 0] + 20) % 180
    hls[:, :, 1] = np.clip(hls[:, :, 1] + 25, 0, 255)
    hls[:, :, 2] = np.clip(hls[:, :, 2] - 60, 0, 255)
    hsl = cv2.cvtColor(hls.astype(np.uint8), cv2.COLOR_HLS2RGB)
    # Contrast and illumination are drawn by MXNet: what they were follows from what came out.
    plain = planes(picture[7:17, 4:16]).astype(float)
    lit = iterate((3, 10, 12), mean_r=50, mean_g=60, mean_b=70, max_random_contrast=0.5, max_random_illumination=20, seed_aug=5)
    by, add = np.polyfit((plain - np.array([50, 60, 70])[:, None, None]).ravel(), lit.ravel(), 1)
    # The shear that MXNet draws cannot be fixed: its matrix, through OpenCV.
    shear = np.float32([[1, 0.3, -0.3 * H / 2], [0, 1, 0]])
    sheared = cv2.warpAffine(picture, shear, (W, H), flags=1, borderMode=cv2.BORDER_CONSTANT, borderValue=(200,) * 3)

    print("/* aug_peers - what MXNet, OpenCV and Pillow make of a small picture: made by aug_peers.py. */")
    print("#ifndef TESTS_GOLDEN_AUG_PEERS_H\n#define TESTS_GOLDEN_AUG_PEERS_H\n\n#include <stdint.h>\n")
    print(f"#define PEERS_CONTRAST {by:.7g}f\n#define PEERS_ILLUMINATION {add:.7g}f")
    table("resize", levels(iterate((3, 10, 12), resize=30)))
    table("rotate", red(iterate((3, 24, 20), rotate=30, fill_value=200)))
    table("scale", levels(iterate((3, 10, 12), min_random_scale=1.3, max_random_scale=1.3)))
    table("aspect", red(iterate((3, 24, 20), min_aspect_ratio=1.5, max_aspect_ratio=1.5, fill_value=7)))
    table("size", levels(iterate((3, 10, 12), min_img_size=26, max_img_size=28, min_random_scale=1.3,
                                 max_random_scale=1.3)))
    table("shear", red(planes(sheared)))
    table("pad", red(iterate((3, 28, 24), pad=3, fill_value=100)))
    table("reflect", red(planes(cv2.copyMakeBorder(picture, 2, 2, 2, 2, cv2.BORDER_REFLECT_101))))
    table("crop_size", levels(iterate((3, 16, 16), min_crop_size=9, max_crop_size=9)))
    table("hsl", planes(hsl))
    table("normal", iterate((3, 4, 6), mean_r=50, mean_g=60, mean_b=70, std_r=2, std_g=3, std_b=4, scale=0.5, mirror=True))
    table("lit", lit[:, :4, :6])


def pillow():
    im = Image.fromarray(picture)
    crop = Image.fromarray(picture[7:17, 4:16])
    table("shrink", planes(np.asarray(im.resize((10, 12), Image.BILINEAR))))
    table("resized_crop", planes(np.asarray(im.crop((3, 2, 17, 21)).resize((12, 10), Image.BILINEAR))))
    table("brightness", planes(np.asarray(ImageEnhance.Brightness(crop).enhance(1.6))))
    table("contrast", planes(np.asarray(ImageEnhance.Contrast(crop).enhance(0.4))))
    table("saturation", planes(np.asarray(ImageEnhance.Color(crop).enhance(2.5))))
    crop.paste(0, (7, 2, 12, 7))
    table("cut", planes(np.asarray(crop)))


mxnet()
pillow()
print("\n#endif")
