#!/usr/bin/env bash
# pmerge.sh - the mean of four files of 100 MB: time and peak memory, beside PyTorch's where PEER_TORCH names a python.
#
#	[PEER_TORCH=python] bench/pmerge.sh [rounds]
#
# All run in turn on files that are in the page cache; the medians are printed.  The bare rows say what is inevitable: reading
# the four, and writing one to this disk (dd, with the fsync that both files get).
set -eu
cd "$(dirname "$0")/.."
export BUILD=${BUILD:-build} LC_ALL=C
rounds=${1:-7}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
make -s BUILD="$BUILD" "$BUILD/pmerge"

# Ten tensors of 10 MB each, of numbers from -1 to 1.
perl -e '
	srand 1;
	my $n = 2621440;
	my $head = "{" . join(",", map { sprintf q("t%d":{"dtype":"F32","shape":[%d],"data_offsets":[%d,%d]}), $_, $n,
		4 * $n * $_, 4 * $n * ($_ + 1) } 0 .. 9) . "}";
	$head .= " " x (-length($head) % 8);
	for my $f (0 .. 3) {
		my $piece = pack("f<*", map { rand(2) - 1 } 1 .. 65536);
		open(my $h, ">", "$ARGV[0]/$f.safetensors") or die;
		print $h pack("Q<", length $head), $head;
		print $h $piece for 1 .. 10 * $n / 65536;
		close $h or die;
	}' "$dir"
cat >"$dir/mean.py" <<'END'
import sys, time
from safetensors.torch import load_file, save_file

start = time.perf_counter()
files = [load_file(p) for p in sys.argv[2:]]
save_file({k: sum(f[k] for f in files) / len(files) for k in files[0]}, sys.argv[1])
print(time.perf_counter() - start, file=sys.stderr)
END

# take NAME COMMAND...: appends seconds and peak MB
take() { /usr/bin/time -f "$1 %e %M" -a -o "$dir/times" "${@:2}" >/dev/null 2>"$dir/err"; }
in=("$dir"/[0-3].safetensors)
cat "${in[@]}" >/dev/null
for ((r = 0; r < rounds; r++)); do
	take pmerge "$BUILD/pmerge" -o "$dir/out.safetensors" "${in[@]}"
	take pmerge-to-null "$BUILD/pmerge" -o /dev/null "${in[@]}"
	take bare-read cat "${in[@]}"
	take bare-write dd if="${in[0]}" of="$dir/copy" bs=1M conv=fsync
	if [ -n "${PEER_TORCH:-}" ]; then
		take pytorch "$PEER_TORCH" "$dir/mean.py" "$dir/torch.safetensors" "${in[@]}"
		echo "pytorch-without-start $(cat "$dir/err") 0" >>"$dir/times"
	fi
done
printf 'what\ttime_s\tpeak_mb\n'
for name in $(cut -d ' ' -f 1 "$dir/times" | awk '!seen[$1]++'); do
	for column in 2 3; do
		grep "^$name " "$dir/times" | cut -d ' ' -f $column | sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
	done | paste -sd ' ' | awk -v name="$name" '{ printf "%s\t%.3f\t%s\n", name, $1, ($2 > 0 ? sprintf("%.1f", $2 / 1024) : "-") }'
done
if [ -n "${PEER_TORCH:-}" ]; then
	"$BUILD/pmerge" --diff --tolerance 1e-6 "$dir/out.safetensors" "$dir/torch.safetensors" >/dev/null && echo "# the same numbers"
fi
