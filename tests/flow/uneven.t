#!/usr/bin/env bash
# uneven.t - workers with batches of different sizes compute what one worker with the sum of the sizes computes.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1
export OMP_NUM_THREADS=1

# 60 images of 32x32 in CIFAR's format; the class is the brightness.
mkdir c
perl -e 'srand 1; for $i (0..59) { print chr($i % 10), map { chr(int($i % 10 * 25 + rand 6)) } 1..3072 }' \
	>c/data_batch_1.bin
im2rec c/data_batch_1.bin -o train.rec 2>im2rec.err
train="pworker --net mlp --shape 3x28x28 --data train.rec --val train.rec --lr 0.05 --scale 0.00390625"

# apart A B: the largest difference of two checkpoints' numbers, in millionths of the largest number.
apart() {
	perl -e 'sub get {
			open my $f, "<:raw", $_[0] or die;
			local $/;
			my $b = <$f>;
			unpack "f<*", substr $b, 8 + unpack "Q<", $b
		}
		my @a = get $ARGV[0]; my @b = get $ARGV[1]; my ($most, $d) = (0, 0);
		for (0..$#a) { my $e = abs($a[$_] - $b[$_]); $d = $e if $e > $d; $most = abs $a[$_] if abs $a[$_] > $most }
		die unless @a == @b && $most > 0; printf "%d\n", 1e6 * $d / $most' "$1" "$2"
}

status 0 "one worker trains with a batch of 16" $train --batch 16 --epochs 3 --save one
status 0 "two workers train with batches of 4 and 12" dlaunch -n 2 -s 2 $train --batch 4:12 --epochs 3 --save two
is "$(awk -F'\t' '$5 == "epoch" { print $4, $8 }' out | sort -u | paste -sd,)" "0 60" \
	"two workers train on every record once an epoch"
is "$(awk -F'\t' '$5 == "validation" { print $4, $8 }' out | sort -u | paste -sd,)" "0 60" \
	"two workers validate every record once"
d=$(apart one-0003.safetensors two-0003.safetensors)
ok "batches of 4 and 12 give the weights of 16 within rounding: $d millionths" test "$d" -lt 20
status 0 "--batch 8:8 trains two workers" dlaunch -n 2 -s 2 $train --batch 8:8 --epochs 3 --save even
status 0 "--batch 8 trains two workers" dlaunch -n 2 -s 2 $train --batch 8 --epochs 3 --save even1
ok "--batch 8:8 and --batch 8 give the same bytes" cmp even-0003.safetensors even1-0003.safetensors

status 0 "two workers train with micro-batches of 2 and 6" \
	dlaunch -n 2 -s 1 $train --batch 2:6 --accumulate 2 --epochs 3 --save acc
d=$(apart one-0003.safetensors acc-0003.safetensors)
ok "micro-batches of 2 and 6 give the weights of 16 within rounding: $d millionths" test "$d" -lt 20
status 0 "a job with batches of 4 and 12 stops within an epoch" \
	dlaunch -n 2 -s 1 $train --batch 4:12 --steps 6 --save stop
status 0 "the job with batches of 4 and 12 is resumed" \
	dlaunch -n 2 -s 2 $train --batch 4:12 --epochs 3 --resume stop-0001-000002.safetensors --save stop
ok "the resumed job ends in the same bytes" cmp two-0003.safetensors stop-0003.safetensors
status 2 "resuming with other batches is refused" \
	dlaunch -n 2 -s 1 $train --batch 12:4 --resume stop-0001-000002.safetensors
like err 'stopped within an epoch with 2 micro-batches of 4:12 a step; resume with the same' \
	"the error gives the batches of the checkpoint"

status 2 "--batch refuses two numbers for three workers" dlaunch -n 3 -s 1 $train --batch 4:12
like err '^worker [012]: pworker: --batch: 2 numbers for 3 workers$' "the error gives both counts"
status 2 "--batch refuses a missing number" $train --batch 4:
like err '^pworker: --batch: ' "the error names --batch"
done_testing
