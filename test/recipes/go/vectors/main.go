// Prints what the recipe says of each vector, one per line: vectors <vectors.json>
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"example.com/gapless"
)

func main() {
	var file struct {
		Vectors []struct {
			Header *string `json:"header"`
			Body   []byte  `json:"body_base64"`
			Secret string  `json:"secret"`
			Now    int64   `json:"now"`
		} `json:"vectors"`
	}
	text, err := os.ReadFile(os.Args[1])
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, vector := range file.Vectors {
		header := ""
		// http.Header.Get says of a header that is not there what it says of an empty one.
		if vector.Header != nil {
			header = *vector.Header
		}
		if err := gapless.VerifySignature(header, vector.Body, vector.Secret, time.Unix(vector.Now, 0)); err != nil {
			fmt.Println(err)
		} else {
			fmt.Println("valid")
		}
	}
}
