# cifar_png.py - CIFAR-10's training set as 50,000 PNG files in class folders: cifar_png.py cifar-10-binary.tar.xz FOLDER
import os
import sys
import tarfile

import cv2
import numpy as np

source, folder = sys.argv[1:]
for c in range(10):
    os.makedirs(f"{folder}/{c}")
number = 0
with tarfile.open(source) as tar:
    for member in sorted(tar.getmembers(), key=lambda m: m.name):
        if "data_batch" in member.name:
            for row in np.frombuffer(tar.extractfile(member).read(), np.uint8).reshape(-1, 3073):
                picture = row[1:].reshape(3, 32, 32).transpose(1, 2, 0)[:, :, ::-1]
                cv2.imwrite(f"{folder}/{row[0]}/{number:05}.png", picture)
                number += 1
