<?php
// Prints what the recipe says of each vector, one per line: run_vectors.php <vectors.json>

declare(strict_types=1);

require __DIR__ . '/../../docs/recipes/verify_signature.php';

foreach (json_decode(file_get_contents($argv[1]), true, 512, JSON_THROW_ON_ERROR)['vectors'] as $vector) {
    $body = base64_decode($vector['body_base64'], true);
    echo signature_problem($vector['header'], $body, $vector['secret'], $vector['now']) ?? 'valid', "\n";
}
