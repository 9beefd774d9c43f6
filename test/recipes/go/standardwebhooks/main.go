// Prints what the Standard Webhooks library says of each push, one per line: standardwebhooks <pushes.json>
package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

func main() {
	var pushes []struct {
		Secret  string            `json:"secret"`
		Headers map[string]string `json:"headers"`
		Body    []byte            `json:"body_base64"`
	}
	text, err := os.ReadFile(os.Args[1])
	if err == nil {
		err = json.Unmarshal(text, &pushes)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, push := range pushes {
		headers := http.Header{}
		for name, value := range push.Headers {
			headers.Set(name, value)
		}
		webhook, err := standardwebhooks.NewWebhook(push.Secret)
		if err == nil {
			err = webhook.Verify(push.Body, headers)
		}
		if err != nil {
			fmt.Println("refused:", err)
		} else {
			fmt.Println("valid")
		}
	}
}
