import { familyOf } from './catalog-entry.js';
import { openObjectSchema } from './data-schemas/json-schema.js';

const verification = {
  id: 'ver_2208',
  status: 'created',
  method: 'document',
  visitor: { id: 'vis_88213', name: 'Jonas Weber', email: 'jonas.weber@example.com' },
  created_at: '2026-03-02T09:25:00.000Z',
  expires_at: '2026-03-09T09:25:00.000Z',
};

export const verificationEvents = familyOf(
  {
    family: 'verification',
    scope: 'org',
    subject: 'id',
    openSchema: openObjectSchema('The identity verification or the fraud signal.'),
  },
  [
    { event: 'verification.created', description: 'An identity verification was created.', example: verification },
    {
      event: 'verification.processing',
      description: 'The submitted evidence is being checked.',
      example: { ...verification, status: 'processing' },
    },
    {
      event: 'verification.completed',
      description: 'The check of the evidence has ended.',
      example: { ...verification, status: 'completed' },
    },
    {
      event: 'verification.approved',
      description: 'The identity was confirmed.',
      example: { ...verification, status: 'approved' },
    },
    {
      event: 'verification.rejected',
      description: 'The identity was not confirmed.',
      example: { ...verification, status: 'rejected', reason: 'document_expired' },
    },
    {
      event: 'verification.manual_review',
      description: 'A person has to decide the verification.',
      example: { ...verification, status: 'manual_review' },
    },
    {
      event: 'verification.expired',
      description: 'The verification was not finished in time.',
      example: { ...verification, status: 'expired' },
    },
    {
      event: 'fraud.flagged',
      description: 'A visitor or a verification was flagged as fraud.',
      example: {
        id: 'frd_118',
        verification_id: 'ver_2208',
        visitor_id: 'vis_88213',
        signals: ['document_reused'],
        flagged_at: '2026-03-02T09:31:10.000Z',
      },
    },
  ],
);
