<?php

// Receives events with PHP 8: WEBHOOK_SECRET=whsec_... php -S 127.0.0.1:8080 receiver.php

declare(strict_types=1);

const TOLERANCE_SECONDS = 300;
const KEEP_SECONDS = 3 * 86400;

/** Return whether a delivery was recently signed with the secret. Names of $headers are in lower case. */
function verify(string $secret, array $headers, string $body, int $now): bool
{
    $contract = hash_hmac('sha256', $body, $secret);
    $standard = base64_encode(hash_hmac(
        'sha256',
        ($headers['webhook-id'] ?? '') . '.' . ($headers['webhook-timestamp'] ?? '') . '.' . $body,
        key_of($secret),
        true,
    ));
    return any_equal($contract, [
        $headers['x-signature-256'] ?? '',
        $headers['x-signature-256-previous'] ?? '',
    ])
        && any_equal("v1,$standard", explode(' ', $headers['webhook-signature'] ?? ''))
        && ctype_digit($headers['webhook-timestamp'] ?? '')
        && abs($now - (int) $headers['webhook-timestamp']) <= TOLERANCE_SECONDS;
}

function any_equal(string $expected, array $given): bool
{
    $found = false;
    foreach ($given as $one) {
        $found = hash_equals($expected, $one) || $found;
    }
    return $found;
}

/** Return the key of a secret. The part after whsec_ is base64. */
function key_of(string $secret): string
{
    $text = str_starts_with($secret, 'whsec_') ? substr($secret, 6) : '';
    $key = strlen($text) % 4 === 0 ? base64_decode($text, true) : false;
    return $key === false || $key === '' ? $secret : $key;
}

/** Process an event once. There is one file per ID, which only one request can create. */
function once(string $id, callable $work): void
{
    $folder = sys_get_temp_dir() . '/platestream-events';
    @mkdir($folder, 0700, true);
    foreach (glob("$folder/*") as $file) {
        if (@filemtime($file) < time() - KEEP_SECONDS) {
            @unlink($file);
        }
    }
    $mark = "$folder/" . hash('sha256', $id);
    if (@fopen($mark, 'x') === false) {
        return;
    }
    try {
        $work();
    } catch (Throwable $error) {
        unlink($mark);
        throw $error;
    }
}

function handle(array $event): void
{
    if ($event['event'] === 'recognition.created') {
        error_log($event['data']['recognition']['plate'] . ' was read');
    } elseif ($event['event'] === 'alert.triggered') {
        error_log($event['data']['alert']['name'] . ': ' . $event['data']['recognition']['plate']);
    }
}

function receive(): int
{
    $body = file_get_contents('php://input');
    $headers = array_change_key_case(getallheaders());
    if (!verify((string) getenv('WEBHOOK_SECRET'), $headers, $body, time())) {
        return 401;
    }
    $event = json_decode($body, true);
    if (!is_string($event['id'] ?? null) || !isset($event['event'], $event['data'])) {
        return 400;
    }
    once($event['id'], fn () => handle($event));
    return 204;
}

if (PHP_SAPI !== 'cli') {
    http_response_code(receive());
}
