# im2rec_resume.t - a packing run that was cut off, by whatever and wherever, goes on to the same bytes and the same rejects.
. "$TOP/tests/tap.sh"
PATH=$BUILD/share/demo:$PATH
cd "$T" || exit 1

pictures src 300 1 || exit 1
for f in $(find src -name '*.png' | sort | awk 'NR % 100 == 50'); do
	head -c 900 "$f" >"$f.cut" && mv "$f.cut" "$f"	# one in a hundred is broken
done
# Enlarged, so that the run is long enough to be killed on its way.
opts="--resize 300 --encoding jpg --inter-method lanczos"
run() { ${run:-} im2rec -q $opts "$@" src; }
same() { # NAME: all that there is equals what a single run gave
	for e in rec idx sum labels bad; do cmp "ref.$e" "$1.$e" || return; done
	[ -z "$(ls "$1".rec.* 2>/dev/null)" ]
}

status 1 "a single run" run -j 2 -o ref.rec --rejects ref.bad
cp err ref.err
is "$(wc -l <ref.idx)" 297 "packs what is sound"
is "$(cut -f 1 ref.bad)" "$(find src -name '*.png' | sort | awk 'NR % 100 == 50')" "names the rest"
is "$(sed 's/\t/: /; s/^/im2rec: /' ref.bad)" "$(cat ref.err)" "for the reasons that were told"
size=$(wc -c <ref.rec)

# --- killed when the file has so many bytes, and again, and again
killed=0
for j in 1 2 8; do
	for share in 15 40 75; do
		(run=exec; run -j $j -o k.rec --rejects k.bad --resume 2>/dev/null) & pid=$!
		while kill -0 $pid 2>/dev/null &&
			[ "$(stat -c %s k.rec.partial 2>/dev/null || echo 0)" -lt $((size * share / 100)) ]; do :; done
		kill -KILL $pid 2>/dev/null
		wait $pid 2>/dev/null
		if [ $? -eq 137 ]; then
			killed=$((killed + 1))
		else
			# It was done before we saw how far it is: a limit of the file's size ends another one on its way.
			rm -f k.*
			(ulimit -f $((size * share / 102400)); run -j $j -o k.rec --rejects k.bad --resume) >/dev/null 2>&1
		fi
		is "$(ls k.rec k.idx k.sum k.bad 2>/dev/null)" "" "-j $j: killed at $share %, nothing looks like a whole"
	done
	before=$(stat -c %s k.rec.partial)
	status 1 "-j $j: the last run" run -j $j -o k.rec --rejects k.bad --resume
	ok "-j $j: the same bytes, index, sums and rejects" same k
	is "$(sort err)" "$(sort ref.err)" "-j $j: all rejects are told"
	ok "-j $j: it went on from what there was" test "$before" -gt 0
	rm k.*
done
echo "# $killed of 9 runs were killed on their way"

# --- cut off at any byte: a file size limit ends the run in the middle of a write
for limit in 300 301 777 1111; do
	(ulimit -f $limit; run -j 2 -o u.rec --rejects u.bad --resume) >/dev/null 2>&1
	is $? 153 "ended by the limit of $limit KiB"
done
cut=$(stat -c %s u.rec.partial)
status 1 "goes on" run -o u.rec --rejects u.bad --resume
ok "to the same" same u

# --- a disk that lost what it said it had: the journal is ahead of the records, or torn, or both
interrupt() { (ulimit -f 1500; run -j 2 -o p.rec --rejects p.bad) >/dev/null 2>&1; }
for loss in 'truncate -s -300000 p.rec.partial' 'dd if=/dev/zero of=p.rec.partial bs=1024 seek=700 count=9 conv=notrunc' \
	'truncate -s -30 p.rec.journal' 'dd if=/dev/zero of=p.rec.journal bs=1 seek=1500 count=900 conv=notrunc' \
	'printf "r\tnonsense" >>p.rec.journal' ': >p.rec.journal' 'rm p.rec.journal' 'rm p.rec.partial'; do
	interrupt
	(eval "$loss") 2>/dev/null
	run -o p.rec --rejects p.bad --resume 2>/dev/null
	ok "after $loss" same p
	rm -f p.*
done

# --- what is not the same command, or not the same source
interrupt
cp p.rec.journal keep.journal
for other in "--resize 161" "--quality 90" "--part 0/2" "--color grey" "--encoding png"; do
	status 2 "refused with $other" im2rec $opts $other -o p.rec --rejects p.bad --resume src
	like err '^im2rec: p\.rec: was begun with other options or another source; without --resume it begins anew$' "in one line"
done
ok "what was done stays" cmp p.rec.journal keep.journal
first=$(find src -name '*.png' | sort | head -n 1)
mv "$first" away.png
status 2 "refused when a picture has gone" run -o p.rec --rejects p.bad --resume
like err '^im2rec: p\.rec: item [0-9]* of the source was another one, not ' "which is named"
mv away.png "$first"
cp -p "$first" away.png
cp "$(find src -name '*.png' | sort | sed -n 2p)" "$first"
status 2 "refused when another picture has its name" run -o p.rec --rejects p.bad --resume
like err '^im2rec: p\.rec: item 0 of the source was another one, not ' "which is named, too"
mv away.png "$first"
status 1 "and taken up when it is back" run -o p.rec --rejects p.bad --resume
ok "to the same as ever" same p
(cd src && find . -name '*.png' | sort | awk -v OFS='\t' '{ print NR, NR % 7, $0 }') >l.lst
list() { im2rec -q $opts -o l.rec --resume l.lst src; }
(ulimit -f 1500; list) >/dev/null 2>&1
echo "9999	1	none.png" >>l.lst
status 2 "a list that has grown" list
like err 'another source' "is another source"

# --- items that are bad by their labels are known again
(cd src && find . -name '*.png' | sort | awk -v OFS='\t' '{ print NR, NR % 7, (NR == 3 ? "" : "1" OFS) $0 }') >bad.lst
short() { im2rec -q $opts --label-width 2 "$@" bad.lst src; }
short -o short.rec 2>/dev/null
(ulimit -f 1500; short -o b.rec) >/dev/null 2>&1
ok "a run with a label too few is cut off" test -s b.rec.partial
status 1 "and goes on" short -o b.rec --resume
ok "to the same records" cmp short.rec b.rec
rm b.*

# --- out of an archive
tar cf src.tar src
arc() { im2rec -q $opts -j 2 -o "$@" src.tar; }
arc a.rec 2>/dev/null
(ulimit -f 2000; arc b.rec) >/dev/null 2>&1
ok "a run that reads an archive is cut off" test -s b.rec.partial
status 1 "and goes on" arc b.rec --resume
ok "to the same records" cmp a.rec b.rec
ok "and index" cmp a.idx b.idx

# --- others at the same time, and places that are none
interrupt
exec 8<p.rec.partial && flock 8
status 1 "while another one is at it" run -o p.rec --resume
like err '^im2rec: p\.rec: another im2rec is writing it$' "nothing is done"
exec 8<&-
status 1 "without --resume it begins anew" run -o p.rec --rejects p.bad
ok "with the same end" same p
status 2 "a device is no place for files" run -o /dev/null
like err '^im2rec: /dev/null: is not a file' "is told"
ok "... and still there" test -c /dev/null
status 2 "--resume wants a file" run --resume
mkdir taken.idx && im2rec -q -o taken.rec src >/dev/null 2>err
like err '^im2rec: taken\.idx: ' "a name beside the records that cannot be had"
ok "leaves the records to a later run" test -s taken.rec.partial -a ! -e taken.rec
rmdir taken.idx
status 1 "which ends it" im2rec -q -o taken.rec --resume src
ok "well" im2rec --verify -q taken.rec

# --- old files do not stand beside new records
cp ref.rec old.rec && cp ref.idx old.idx && cp ref.labels old.labels
im2rec -q -o old.rec l.lst src 2>/dev/null
ok "classes' names of older records are gone" test ! -e old.labels
ok "the index is the new one's" im2rec --verify -q old.rec
: >old.bad
status 0 "no rejects" im2rec -q -o old.rec --rejects old.bad --part 0/150 src
is "$(wc -c <old.bad)" 0 "are an empty file"
done_testing
