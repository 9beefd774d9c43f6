/**
 * Who answers on the port of a launched server: the server itself, nobody yet, or another server that took the port
 * first.
 */
export type WhoAnswers = 'ours' | 'nobody' | 'stranger';
