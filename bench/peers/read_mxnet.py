# read_mxnet - images a second of MXNet's ImageRecordIter: decode, random crop, mirror, mean, batch.
#
#	python3 bench/peers/read_mxnet.py FILE.rec CxHxW THREADS BATCH
#
# Prints a line an epoch: images, seconds, processor seconds of all threads.  The first epoch is not counted.
import sys
import time

import mxnet as mx

rec, shape, threads, batch = sys.argv[1], tuple(map(int, sys.argv[2].split("x"))), int(sys.argv[3]), int(sys.argv[4])
it = mx.io.ImageRecordIter(path_imgrec=rec, path_imgidx=rec[:-4] + ".idx", data_shape=shape, batch_size=batch,
                           preprocess_threads=threads, rand_crop=True, rand_mirror=True, shuffle=True,
                           mean_r=123.68, mean_g=116.78, mean_b=103.94, verbose=False)
for epoch in range(2):
    it.reset()
    n, t, c = 0, time.perf_counter(), time.process_time()
    for b in it:
        b.data[0].wait_to_read()
        n += batch - b.pad
    if epoch > 0:
        print(f"{n}\t{time.perf_counter() - t:.3f}\t{time.process_time() - c:.3f}", flush=True)
