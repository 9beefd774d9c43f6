/**
 * Who answers on the port of a server that was launched: the server itself, nobody yet, or somebody else who was faster
 * to take the port.
 */
export type WhoAnswers = 'ours' | 'nobody' | 'stranger';
