// Go brings its own memory management and makes its own system calls.
package main

import "fmt"

func main() {
	squares := make(map[int]int)
	for i := 0; i < 100000; i++ {
		squares[i] = i * i
	}
	fmt.Println(len(squares), squares[317])
}
