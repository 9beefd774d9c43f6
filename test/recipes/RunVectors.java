import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.time.Instant;
import java.util.Locale;

/** Prints what the recipe says of each vector, one per line: RunVectors vectors.json */
final class RunVectors {
    public static void main(String[] args) throws Exception {
        for (JsonNode vector : new ObjectMapper().readTree(new File(args[0])).get("vectors")) {
            JsonNode header = vector.get("header");
            System.out.println(
                SignatureVerifier.problem(
                        header.isNull() ? null : header.textValue(),
                        vector.get("body_base64").binaryValue(),
                        vector.get("secret").textValue(),
                        Instant.ofEpochSecond(vector.get("now").longValue()))
                    .map(problem -> problem.name().toLowerCase(Locale.ROOT))
                    .orElse("valid"));
        }
    }
}
