# median.sh - median: of the numbers on standard input, one a line; of two in the middle, their mean.
median() { sort -g | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }
