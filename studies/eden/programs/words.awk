# Counts words, and pairs of words that follow one another.
{
    for (i = 1; i <= NF; i++) {
        seen[$i]++
        if (i > 1) pairs[before, $i]++
        before = $i
    }
}
END {
    for (word in seen) { words++; sum += seen[word] * length(word) }
    for (pair in pairs) both++
    print words, both, sum
}
