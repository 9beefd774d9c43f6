import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Verifies X-Service-Signature. Java 17 or later, no dependencies.
 *
 * <pre>{@code
 * byte[] body = request.getInputStream().readAllBytes(); // before anything has parsed it
 * if (SignatureVerifier.problem(request.getHeader("X-Service-Signature"), body, secret, Instant.now()).isPresent()) {
 *     response.setStatus(401);
 *     return;
 * }
 * }</pre>
 */
public final class SignatureVerifier {
    private static final long TOLERANCE_SECONDS = 300;
    private static final Pattern MEMBER = Pattern.compile("([a-z][a-z0-9]*)=([!-~]+)");
    private static final Pattern TIMESTAMP = Pattern.compile("0|[1-9][0-9]{0,11}");
    private static final Pattern LOWER_HEX = Pattern.compile("[0-9a-f]+");

    /** What is wrong with a signature. */
    public enum Problem { MISSING, MALFORMED, EXPIRED, MISMATCH }

    private SignatureVerifier() {}

    /**
     * Empty if the signature is good.
     *
     * @param header the value of the header, null if the request has none
     * @param body the raw body
     */
    public static Optional<Problem> problem(String header, byte[] body, String secret, Instant now) {
        if (header == null || header.isEmpty()) return Optional.of(Problem.MISSING);

        // Members of other names are left for later versions. While a secret is replaced, there is one v1 for each of the two.
        Map<String, String> members = new HashMap<>();
        List<String> digests = new ArrayList<>();
        // Without the limit, split drops empty members at the end.
        for (String text : header.split(",", -1)) {
            Matcher member = MEMBER.matcher(text);
            if (!member.matches()) return Optional.of(Problem.MALFORMED);
            if (member.group(1).equals("v1")) {
                digests.add(member.group(2));
            } else if (members.put(member.group(1), member.group(2)) != null) {
                return Optional.of(Problem.MALFORMED);
            }
        }
        String t = members.getOrDefault("t", "");
        boolean isRead = digests.stream().allMatch(v1 -> LOWER_HEX.matcher(v1).matches());
        if (!TIMESTAMP.matcher(t).matches() || digests.isEmpty() || !isRead) return Optional.of(Problem.MALFORMED);

        if (Math.abs(now.getEpochSecond() - Long.parseLong(t)) > TOLERANCE_SECONDS) return Optional.of(Problem.EXPIRED);

        // Anyone can sign with an empty key.
        if (secret.isEmpty()) return Optional.of(Problem.MISMATCH);
        byte[] expected = HexFormat.of().formatHex(hmac(secret, t, body)).getBytes(StandardCharsets.US_ASCII);
        boolean matches =
            digests.stream().anyMatch(v1 -> MessageDigest.isEqual(expected, v1.getBytes(StandardCharsets.US_ASCII)));
        return matches ? Optional.empty() : Optional.of(Problem.MISMATCH);
    }

    private static byte[] hmac(String secret, String t, byte[] body) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(secret.getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
            mac.update((t + ".").getBytes(StandardCharsets.US_ASCII));
            return mac.doFinal(body);
        } catch (GeneralSecurityException impossible) {
            throw new IllegalStateException("every Java has HmacSHA256", impossible);
        }
    }
}
