import type { SampleParts } from './sample-parts.js';

/** Returns a receiver in Go that needs only the standard library. */
export function goSample({ path, about, hasBatches }: SampleParts): string {
  return String.raw`// ${about}
package main

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	tolerance = 300 * time.Second
	maxBytes  = 1 << 20
)

var (
	secret     = []byte(os.Getenv("GAPLESS_SECRET"))
	headerForm = regexp.MustCompile("^t=([0-9]+)((?:,v1=[0-9a-f]{64})+)$")
)

// isGenuine reports whether the raw body was signed with our secret, not long ago.
func isGenuine(header string, body []byte) bool {
	parts := headerForm.FindStringSubmatch(header)
	if parts == nil {
		return false
	}
	seconds, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > tolerance {
		return false
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(parts[1] + "."))
	mac.Write(body)
	expected := mac.Sum(nil)
	// While a secret is replaced, there are two signatures: one has to match.
	for _, digits := range strings.Split(parts[2], ",v1=")[1:] {
		if signature, err := hex.DecodeString(digits); err == nil && hmac.Equal(expected, signature) {
			return true
		}
	}
	return false
}

type Event struct {
	ID    string
	Seq   int64
	Event string
}

func receive(response http.ResponseWriter, request *http.Request) {
	// The bytes as they came: parsed and printed again they would be others.
	body, err := io.ReadAll(http.MaxBytesReader(response, request.Body, maxBytes))
	if err != nil {
		http.Error(response, "too large or unreadable", http.StatusRequestEntityTooLarge)
		return
	}
	if !isGenuine(request.Header.Get("X-Service-Signature"), body) {
		http.Error(response, "not genuine", http.StatusUnauthorized)
		return
	}
${hasBatches ? LIST : ONE}
	response.WriteHeader(http.StatusNoContent)
}

func main() {
	// Everyone can sign with an empty secret.
	if len(secret) == 0 {
		log.Fatal("Set GAPLESS_SECRET to the secret of the endpoint.")
	}
	http.HandleFunc(${JSON.stringify(`POST ${path}`)}, receive)
	log.Fatal(http.ListenAndServe(":"+cmp.Or(os.Getenv("PORT"), "8080"), nil))
}
`;
}

const ONE = `	var event Event
	if err := json.Unmarshal(body, &event); err != nil {
		http.Error(response, "not JSON", http.StatusBadRequest)
		return
	}
	// The same event can come more than once: remember event.ID, and answer before the real work.
	log.Println(event.Seq, event.Event, event.ID)`;

const LIST = `	var batch struct{ Events []Event }
	if err := json.Unmarshal(body, &batch); err != nil {
		http.Error(response, "not JSON", http.StatusBadRequest)
		return
	}
	for _, event := range batch.Events {
		// The same event can come more than once: remember event.ID, and answer before the real work.
		log.Println(event.Seq, event.Event, event.ID)
	}`;
