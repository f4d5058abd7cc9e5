[inputs] | group_by(.kind) | map({kind: .[0].kind, count: length, sum: (map(.size) | add), last: (map(.name) | max)})
