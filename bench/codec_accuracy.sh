#!/usr/bin/env bash
# codec_accuracy.sh - accuracy by codec of resnet-20 on CIFAR-10: jobs of two workers and two servers on this machine.
#
#	bench/codec_accuracy.sh TRAIN.rec VAL.rec [--out FILE] [--epochs N] [--seeds N] [--codecs LIST] [--batch N] [--lr RATE]
#
# Prints a row for each codec and seed: the accuracy after each epoch, in percent, and the bytes that the two workers
# sent.  FILE (codec_accuracy.tsv) keeps the rows: what it has is not run again, so that the script may be stopped.  Rows of
# other records, epochs, batches or rates need a file of their own.
set -eu
. "$(dirname "$0")/arguments.sh"
[ $# -gt 1 ] || usage
train=$1 val=$2 out=codec_accuracy.tsv epochs=5 seeds=3 codecs="f32 bf16 fp16 2bit topk:0.01 powersgd" batch=64 lr=0.1
arguments "out epochs seeds codecs batch lr" "${@:3}"
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
settings="# ${train##*/}, ${val##*/}, $epochs epochs, batch $batch, lr $lr"
[ -s "$out" ] || printf '%s\n' "$settings" >"$out"
[ "$(head -n 1 "$out")" = "$settings" ] ||
	{ echo "codec_accuracy.sh: $out: has rows of other settings ($(head -n 1 "$out")); name another file by --out" >&2; exit 2; }
[ "$(wc -l <"$out")" -gt 1 ] || printf 'codec\tseed\taccuracy\tsent\n' >>"$out"
for ((seed = 1; seed <= seeds; seed++)); do
	for codec in $codecs; do
		! awk -F '\t' -v c="$codec" -v s=$seed '$1 == c && $2 == s { any = 1 } END { exit !any }' "$out" || continue
		dlaunch -n 2 -s 2 pworker --net resnet --data "$train" --val "$val" --batch "$batch" --lr "$lr" --epochs "$epochs" \
			--shape 3x28x28 --pad 4 --rand-crop --rand-mirror --mean-rgb 123.68,116.779,103.939 --init msra --momentum 0.9 \
			--wd 1e-4 --seed $seed --threads 1 --codec "$codec" >"$T/log" 2>"$T/err" ||
			{ cat "$T/err" >&2; exit 1; }
		awk -F '\t' -v codec="$codec" -v seed=$seed '
			$1 == "time_s" { for (i = 1; i <= NF; i++) at[$i] = i; next }
			$at["event"] == "validation" { all = all (all != "" ? " " : "") sprintf("%.2f", 100 * $at["accuracy"]) }
			$at["role"] == "worker" && $at["event"] == "traffic" && $at["class"] == "all" { sent += $at["tx_bytes"] }
			END { printf "%s\t%d\t%s\t%.0f\n", codec, seed, all, sent }' "$T/log" >>"$out"
	done
done
cat "$out"
