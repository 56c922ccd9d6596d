# epochs.gp - figures by epoch, one below the other: a picture on standard output.
#
# plog(1) sets kind, wide, runs, by, validated, figures, title and $data in front of this: at, train accuracy, train loss,
# validation accuracy, validation loss, seconds, samples/s, load, rx, tx, seconds of validation; a block a run.

n = words(figures)
if (kind eq "png") { set terminal pngcairo size 900, 60 + 420 * n font "DejaVu Sans,11" background "white" }
if (kind eq "svg") { set terminal svg size 900, 60 + 420 * n font "DejaVu Sans,13" background "white" }
if (kind eq "text") { set terminal dumb wide, 24 }
set datafile missing "NaN"
if (kind ne "text") { set grid lt 1 lw 0.5 lc rgb "#cccccc" }
set border 3
set format x "%h"
set tics nomirror
set autoscale xfix
set offsets graph 0.02, graph 0.02, 0, 0
set xlabel by
set xtics autofreq
stats $data using 1 nooutput name "at_"
if (by eq "epoch" && at_max - at_min <= 15 && kind ne "text") { set xtics autofreq 0,1 }
# A single place has no range of its own.
if (at_max == at_min) { set xrange [at_min - 0.5:at_min + 0.5]; set xtics (at_min); set offsets }

many = runs > 1
name(what, i) = many ? (strlen(what) > 0 ? what . ", " : "") . title[i + 1] : what
array shade[8] = ["#1b6ca8", "#d1495b", "#3c8d2f", "#edae49", "#7b4ea3", "#00798c", "#8d5524", "#555555"]
shade_of(i) = shade[i % 8 + 1]
set key noenhanced
# Names of many runs stand below, so that all figures are of one width.
if (many) { set key outside bottom center horizontal } else { set key top right }
if (kind ne "text") { set lmargin 10; set rmargin 3 }

# Two measures, the first dashed, the second on top of another where on_top says so; or one, when they are the same.
on_top = 0
value_b = '((column(b) + (on_top > 0 ? column(on_top) : 0)) / unit)'
two = 'plot for [i = 0:runs - 1] $data index i using 1:(column(a) / unit) with linespoints dt 2 pt 6 lc rgb shade_of(i) \
		title name(what_a, i), \
	for [i = 0:runs - 1] $data index i using 1:' . value_b . ' with linespoints lw 2 pt 7 lc rgb shade_of(i) \
		title name(what_b, i)'
one = 'plot for [i = 0:runs - 1] $data index i using 1:a with linespoints lw 2 pt 7 lc rgb shade_of(i) title name("", i)'

if (kind ne "text") { set multiplot layout n, 1 }
do for [figure in figures] {
	set yrange [0:*]
	set format y "%h"
	unit = 1.0
	if (figure eq "accuracy") {
		set ylabel "accuracy"
		set yrange [0:1]
		if (!many) { set key bottom right }
		a = 2; b = 4; what_a = "train"; what_b = "validation"
		eval(two)
		if (!many) { set key top right }
	}
	if (figure eq "loss") {
		set ylabel "loss"
		a = 3; b = 5; what_a = "train"; what_b = "validation"
		eval(two)
	}
	if (figure eq "time") {
		set ylabel by eq "step" ? "seconds a step" : "seconds an epoch"
		a = 6; b = 11; what_a = "training"; what_b = "with validation"
		on_top = 6
		if (!many) { set key bottom right }
		if (validated) { eval(two) } else { eval(one) }
		on_top = 0
		if (!many) { set key top right }
	}
	if (figure eq "speed") {
		set ylabel "samples/s"
		a = 7
		eval(one)
	}
	if (figure eq "traffic") {
		# Whole numbers of the unit at the axis, not of bytes.
		stats $data using (column(9) > column(10) ? column(9) : column(10)) nooutput name "most_"
		power = most_max >= 1024 ? int(log(most_max) / log(1024)) : 0
		unit = 1024.0 ** power
		set ylabel word("B KiB MiB GiB TiB PiB EiB", power + 1) . (by eq "step" ? " since the step before" : " an epoch")
		if (!many) { set key bottom right }
		a = 9; b = 10; what_a = "rx"; what_b = "tx"
		eval(two)
	}
}
if (kind ne "text") { unset multiplot }
