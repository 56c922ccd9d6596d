#!/usr/bin/env bash
# uneven.t - workers with batches of their own compute what one worker with the sum of them does.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1
export OMP_NUM_THREADS=1

# 60 pictures of 32x32 in CIFAR's format: the class is how bright the picture is.
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

status 0 "one worker of 16" $train --batch 16 --epochs 3 --save one
status 0 "two workers of 4 and 12" dlaunch -n 2 -s 2 $train --batch 4:12 --epochs 3 --save two
is "$(awk -F'\t' '$5 == "epoch" { print $4, $8 }' out | sort -u | paste -sd,)" "0 60" "every record once an epoch"
is "$(awk -F'\t' '$5 == "validation" { print $4, $8 }' out | sort -u | paste -sd,)" "0 60" "every record validated once"
d=$(apart one-0003.safetensors two-0003.safetensors)
ok "they compute the same within rounding: $d millionths" test "$d" -lt 20
status 0 "two workers of 8" dlaunch -n 2 -s 2 $train --batch 8:8 --epochs 3 --save even
status 0 "... said in one number" dlaunch -n 2 -s 2 $train --batch 8 --epochs 3 --save even1
ok "... is the same to the last bit" cmp even-0003.safetensors even1-0003.safetensors

status 0 "pieces of a step, too" dlaunch -n 2 -s 1 $train --batch 2:6 --accumulate 2 --epochs 3 --save acc
d=$(apart one-0003.safetensors acc-0003.safetensors)
ok "... within rounding: $d millionths" test "$d" -lt 20
status 0 "stopped within an epoch" dlaunch -n 2 -s 1 $train --batch 4:12 --steps 6 --save stop
status 0 "and resumed" dlaunch -n 2 -s 2 $train --batch 4:12 --epochs 3 --resume stop-0001-000002.safetensors --save stop
ok "... ends in the same bytes" cmp two-0003.safetensors stop-0003.safetensors
status 2 "resumed with other batches" dlaunch -n 2 -s 1 $train --batch 12:4 --resume stop-0001-000002.safetensors
like err 'stopped within an epoch of 2 pieces of 4:12 a step: go on with the same' "... is refused"

status 2 "a number too few" dlaunch -n 3 -s 1 $train --batch 4:12
like err '^worker [012]: pworker: --batch: 2 numbers for 3 workers$' "... is named"
status 2 "no number" $train --batch 4:
like err '^pworker: --batch: ' "... is named"
done_testing
