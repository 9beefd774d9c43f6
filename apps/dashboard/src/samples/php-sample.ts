import type { SampleParts } from './sample-parts.js';

/** Returns a receiver in PHP 8 that needs no packages. */
export function phpSample({ path, about, hasBatches }: SampleParts): string {
  return String.raw`<?php
// ${about}
declare(strict_types=1);

const TOLERANCE_SECONDS = 300;
const MAX_BYTES = 1024 * 1024;

/** Whether the raw body was signed with our secret, not long ago. */
function isGenuine(string $header, string $body, string $secret): bool
{
    if (preg_match('/^t=(\d+)((?:,v1=[0-9a-f]{64})+)$/D', $header, $parts) !== 1) {
        return false;
    }
    [, $timestamp, $signatures] = $parts;
    if (abs(time() - (int) $timestamp) > TOLERANCE_SECONDS) {
        return false;
    }
    $expected = hash_hmac('sha256', $timestamp . '.' . $body, $secret);
    // While a secret is replaced, there are two signatures: one has to match.
    foreach (array_slice(explode(',v1=', $signatures), 1) as $signature) {
        if (hash_equals($expected, $signature)) {
            return true;
        }
    }
    return false;
}

$secret = getenv('GAPLESS_SECRET');
// Everyone can sign with an empty secret.
if ($secret === false || $secret === '') {
    error_log('Set GAPLESS_SECRET to the secret of the endpoint.');
    http_response_code(500);
    exit(1);
}
if ($_SERVER['REQUEST_METHOD'] !== 'POST' || $_SERVER['REQUEST_URI'] !== ${quoted(path)}) {
    http_response_code(404);
    exit;
}
// The bytes as they came: parsed and printed again they would be others.
$body = file_get_contents('php://input', length: MAX_BYTES + 1);
if (strlen($body) > MAX_BYTES) {
    http_response_code(413);
    exit;
}
if (!isGenuine($_SERVER['HTTP_X_SERVICE_SIGNATURE'] ?? '', $body, $secret)) {
    http_response_code(401);
    exit;
}
${hasBatches ? LIST : ONE}
http_response_code(204);
`;
}

const ONE = `$event = json_decode($body, true, flags: JSON_THROW_ON_ERROR);
// The same event can come more than once: remember $event['id'], and answer before the real work.
error_log("{$event['seq']} {$event['event']} {$event['id']}");`;

const LIST = `foreach (json_decode($body, true, flags: JSON_THROW_ON_ERROR)['events'] as $event) {
    // The same event can come more than once: remember $event['id'], and answer before the real work.
    error_log("{$event['seq']} {$event['event']} {$event['id']}");
}`;

function quoted(text: string): string {
  return `'${text.replace(/['\\]/g, String.raw`\$&`)}'`;
}
