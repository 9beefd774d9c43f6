/** The stages of a full set, in the order of their usual ports (3000 … 3005). */
export const STAGES = ['api', 'sequencer', 'router', 'dispatcher', 'projector', 'alerting'] as const;

export type Stage = (typeof STAGES)[number];
