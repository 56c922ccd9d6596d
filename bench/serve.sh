#!/usr/bin/env bash
# serve.sh - images a second of two workers, from the file and from a host that holds it, and the records' way alone.
#
#	TALLY_DATA=../shared/data bench/serve.sh [rounds]
#
# All run in turn on this machine over loopback, so the holder's processor time counts against its readers: cpu_s is what
# the readers took, and holder_cpu_s what the holder took.  The last rows go through a proxy that delays each way by 5 ms:
# what they lose is what the pattern of the requests loses, not the network's rate.
set -eu
cd "$(dirname "$0")/.."
export BUILD=${BUILD:-build} LC_ALL=C
rounds=${1:-3} data=${TALLY_DATA:-../shared/data}
dir=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$dir"' EXIT
make -s BUILD="$BUILD" "$BUILD/bench/read" "$BUILD/im2rec"
(umask 077; openssl rand -hex 32 >"$dir/key")
mkfifo "$dir/ready"

# The photographs, 16 times over, and CIFAR-10.
tar -C "$dir" -xf "$data/imagenette-sample.tar"
"$BUILD/im2rec" -q "$dir/imagenette/train" >"$dir/one.rec"
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do cat "$dir/one.rec"; done >"$dir/jpeg.rec"
"$BUILD/im2rec" -q --split train -o "$dir/png.rec" "$data/cifar-10-binary.tar.xz"

# hold FILE: $at is its address, $holder its process
hold() {
	"$BUILD/im2rec" -q --serve --listen 127.0.0.1:0 --key-file "$dir/key" --ready-fd 9 "$1" 9>"$dir/ready" 2>/dev/null &
	holder=$!
	read -r at <"$dir/ready"
}
cat >"$dir/proxy.py" <<'END'
import asyncio, sys
host, port = sys.argv[1].split(":")
async def pass_on(r, w):
    q, loop = asyncio.Queue(), asyncio.get_running_loop()
    async def later():
        while True:
            at, b = await q.get()
            await asyncio.sleep(max(0, at - loop.time()))
            if not b:
                return w.close()
            w.write(b)
            await w.drain()
    asyncio.ensure_future(later())
    while True:
        b = await r.read(1 << 20)
        await q.put((loop.time() + .005, b))
        if not b:
            return
async def come(r, w):
    r2, w2 = await asyncio.open_connection(host, int(port), limit=1 << 22)
    await asyncio.gather(pass_on(r, w2), pass_on(r2, w))
async def main():
    s = await asyncio.start_server(come, "127.0.0.1", 0, limit=1 << 22)
    print("127.0.0.1:%d" % s.sockets[0].getsockname()[1], flush=True)
    await s.serve_forever()
asyncio.run(main())
END

ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }
# round NAME WORKERS COMMAND...: so many processes at once; images/s of all, the slowest one's time, and processor seconds
round() {
	local name=$1 workers=$2 before=0 after=0 i
	shift 2
	[ -z "${holder:-}" ] || before=$(ticks "$holder")
	for ((i = 0; i < workers; i++)); do "$@" >"$dir/out.$i" & pids[i]=$!; done
	for ((i = 0; i < workers; i++)); do wait "${pids[i]}"; done
	[ -z "${holder:-}" ] || after=$(ticks "$holder")
	cat "$dir"/out.? | awk -v name="$name" -v held=$((after - before)) -v hz="$(getconf CLK_TCK)" '
		{ n += $1; t = $2 > t ? $2 : t; c += $3 }
		END { printf "%s\t%.0f\t%.2f\t%.2f\n", name, n / t, c, held / hz }' >>"$dir/rows"
	rm "$dir"/out.?
}

read="$BUILD/bench/read"
declare -a pids
for kind in "jpeg 3x224x224" "png 3x28x28"; do
	set -- $kind
	for ((k = 0; k < rounds; k++)); do
		holder=
		round "$1, 2 workers, file" 2 "$read" --threads 1 --shape "$2" "$dir/$1.rec"
		hold "$dir/$1.rec"
		round "$1, 2 workers, host" 2 "$read" --threads 1 --shape "$2" --key-file "$dir/key" "$at"
		round "$1, 1 worker, host" 1 "$read" --threads 1 --shape "$2" --key-file "$dir/key" "$at"
		round "$1, records alone, host" 1 "$read" --records --key-file "$dir/key" "$at"
		python3 "$dir/proxy.py" "$at" >"$dir/ready" &
		proxy=$!
		read -r far <"$dir/ready"
		round "$1, 1 worker, host 10 ms away" 1 "$read" --threads 1 --shape "$2" --key-file "$dir/key" "$far"
		kill "$holder" "$proxy"
		wait "$holder" "$proxy" 2>/dev/null || true
	done
done
printf 'row\timages_per_s\tcpu_s\tholder_cpu_s\n'
# The median of the rounds.
sort -t '	' -k 1,1 -k 2,2n "$dir/rows" | awk -F '\t' -v rounds="$rounds" '{ if (++n[$1] == int((rounds + 1) / 2)) print }'
