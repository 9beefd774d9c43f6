<?php
// Verifies X-Service-Signature. PHP 8.0 or later, no dependencies.
//
//   $problem = signature_problem($_SERVER['HTTP_X_SERVICE_SIGNATURE'] ?? null, file_get_contents('php://input'), $secret);
//   if ($problem !== null) { http_response_code(401); exit; }
//
// The body is what php://input gives, before json_decode.

declare(strict_types=1);

const GAPLESS_TOLERANCE_SECONDS = 300;

/** null if the signature is good; else 'missing', 'malformed', 'expired' or 'mismatch'. */
function signature_problem(?string $header, string $body, string $secret, ?int $now = null): ?string
{
    if ($header === null || $header === '') {
        return 'missing';
    }

    // Members of other names are left for later versions. While a secret is replaced, there is one v1 for each of the two.
    $members = [];
    $digests = [];
    foreach (explode(',', $header) as $text) {
        // The modifier D, since $ alone lets a line feed pass at the end.
        if (preg_match('/^([a-z][a-z0-9]*)=([!-~]+)$/D', $text, $match) !== 1 || isset($members[$match[1]])) {
            return 'malformed';
        }
        if ($match[1] === 'v1') {
            $digests[] = $match[2];
        } else {
            $members[$match[1]] = $match[2];
        }
    }
    $t = $members['t'] ?? '';
    if (preg_match('/^(0|[1-9][0-9]{0,11})$/D', $t) !== 1 || $digests === []) {
        return 'malformed';
    }
    foreach ($digests as $v1) {
        if (preg_match('/^[0-9a-f]+$/D', $v1) !== 1) {
            return 'malformed';
        }
    }

    if (abs(($now ?? time()) - (int) $t) > GAPLESS_TOLERANCE_SECONDS) {
        return 'expired';
    }

    // Anyone can sign with an empty key.
    if ($secret === '') {
        return 'mismatch';
    }
    $expected = hash_hmac('sha256', "$t.$body", $secret);
    foreach ($digests as $v1) {
        if (hash_equals($expected, $v1)) {
            return null;
        }
    }
    return 'mismatch';
}
