import org.apache.kafka.tools.AclCommand;

/** Runs Kafka's tool for ACLs once for each argument, which holds the arguments of a call. The first that fails ends all. */
final class RunAcls {
    public static void main(String[] calls) {
        for (String call : calls) AclCommand.main(call.split(" +"));
    }
}
