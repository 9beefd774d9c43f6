// Package gapless verifies X-Service-Signature. Go 1.21 or later, no dependencies.
//
//	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
//	if err != nil || gapless.VerifySignature(r.Header.Get("X-Service-Signature"), body, secret, time.Now()) != nil {
//		w.WriteHeader(http.StatusUnauthorized)
//		return
//	}
package gapless

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const toleranceSeconds = 300

var (
	ErrMissing   = errors.New("missing")
	ErrMalformed = errors.New("malformed")
	ErrExpired   = errors.New("expired")
	ErrMismatch  = errors.New("mismatch")

	member    = regexp.MustCompile(`^([a-z][a-z0-9]*)=([!-~]+)$`)
	timestamp = regexp.MustCompile(`^(0|[1-9][0-9]{0,11})$`)
	lowerHex  = regexp.MustCompile(`^[0-9a-f]+$`)
)

// VerifySignature returns nil if the signature is good; else ErrMissing, ErrMalformed, ErrExpired or ErrMismatch.
// body is the raw body, before anything has parsed it.
func VerifySignature(header string, body []byte, secret string, now time.Time) error {
	if header == "" {
		return ErrMissing
	}

	// Members of other names are left for later versions. While a secret is replaced, there is one v1 for each of the two.
	members := map[string]string{}
	var digests []string
	for _, text := range strings.Split(header, ",") {
		match := member.FindStringSubmatch(text)
		if match == nil {
			return ErrMalformed
		}
		if match[1] == "v1" {
			digests = append(digests, match[2])
			continue
		}
		if _, repeated := members[match[1]]; repeated {
			return ErrMalformed
		}
		members[match[1]] = match[2]
	}
	t := members["t"]
	if !timestamp.MatchString(t) || len(digests) == 0 {
		return ErrMalformed
	}
	for _, v1 := range digests {
		if !lowerHex.MatchString(v1) {
			return ErrMalformed
		}
	}

	signedAt, err := strconv.ParseInt(t, 10, 64)
	if err != nil {
		return ErrMalformed
	}
	if age := now.Unix() - signedAt; age > toleranceSeconds || age < -toleranceSeconds {
		return ErrExpired
	}

	// Anyone can sign with an empty key.
	if secret == "" {
		return ErrMismatch
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(t + "."))
	mac.Write(body)
	expected := []byte(hex.EncodeToString(mac.Sum(nil)))
	for _, v1 := range digests {
		if hmac.Equal(expected, []byte(v1)) {
			return nil
		}
	}
	return ErrMismatch
}
