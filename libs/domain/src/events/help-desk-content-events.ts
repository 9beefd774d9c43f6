import { familyOf } from './catalog-entry.js';
import { openObjectSchema } from './data-schemas/json-schema.js';

const center = {
  id: 'hc_12',
  name: 'Weber Help',
  locales: ['en', 'de'],
  default_locale: 'en',
  domain: 'help.example.com',
  theme: { primary_color: '#0B5FFF' },
  updated_at: '2026-03-02T08:00:00.000Z',
};
const collection = {
  id: 'col_31',
  help_center_id: center.id,
  parent_id: null,
  name: { en: 'Shipping', de: 'Versand' },
  position: 2,
  updated_at: '2026-03-02T08:05:00.000Z',
};
const category = {
  id: 'cat_77',
  collection_id: collection.id,
  name: { en: 'Returns', de: 'Rückgaben' },
  position: 1,
  updated_at: '2026-03-02T08:06:00.000Z',
};
const article = {
  id: 'art_904',
  help_center_id: center.id,
  collection_id: collection.id,
  title: { en: 'How to return a parcel', de: 'Ein Paket zurückgeben' },
  slug: 'how-to-return-a-parcel',
  status: 'draft',
  position: 4,
  deleted_at: null,
  updated_at: '2026-03-02T08:10:00.000Z',
};
const deletedAt = '2026-03-02T12:00:00.000Z';

export const helpDeskContentEvents = familyOf(
  {
    family: 'help_desk_content',
    scope: 'org',
    subject: 'id',
    openSchema: openObjectSchema('The content entity, as the help content API shows it.'),
  },
  [
    { event: 'help_center.created', description: 'A help center was created.', example: center },
    {
      event: 'help_center.updated',
      description:
        'The name, locales, domain or theme of a help center changed, or it was restored (`restored: true`).',
      example: { ...center, restored: true },
    },
    {
      event: 'help_center.deleted',
      description: 'A help center was deleted.',
      example: { ...center, deleted_at: deletedAt },
    },
    { event: 'help_collection.created', description: 'A collection was created.', example: collection },
    {
      event: 'help_collection.updated',
      description: 'A collection changed, AI translation fills (`locales_filled`) included.',
      example: { ...collection, locales_filled: ['de'] },
    },
    {
      event: 'help_collection.deleted',
      description: 'A collection was deleted; its children moved to its parent.',
      example: { ...collection, deleted_at: deletedAt },
    },
    {
      event: 'help_collection.reordered',
      subject: null,
      description: 'The order of the collections under one parent changed.',
      example: { help_center_id: center.id, parent_id: null, ids: ['col_31', 'col_30', 'col_34'] },
    },
    { event: 'help_category.created', description: 'A legacy category was created.', example: category },
    {
      event: 'help_category.updated',
      description: 'A legacy category changed.',
      example: { ...category, name: { en: 'Returns and refunds', de: 'Rückgaben' } },
    },
    {
      event: 'help_category.deleted',
      description: 'A legacy category was deleted.',
      example: { ...category, deleted_at: deletedAt },
    },
    {
      event: 'help_category.reordered',
      subject: null,
      description: 'The order of the legacy categories under a collection changed.',
      example: { collection_id: collection.id, ids: ['cat_78', 'cat_77'] },
    },
    {
      event: 'help_article.created',
      description: 'An article was created; carries its status.',
      example: article,
    },
    {
      event: 'help_article.updated',
      description: 'An article changed, AI translation fills (`locales_filled`) included.',
      example: { ...article, locales_filled: ['de'] },
    },
    {
      event: 'help_article.deleted',
      description: 'An article was soft-deleted; it stays fetchable with `deleted_at` set.',
      example: { ...article, deleted_at: deletedAt },
    },
    {
      event: 'help_article.published',
      description: 'A draft article was published.',
      example: { ...article, status: 'published', published_at: '2026-03-02T11:00:00.000Z' },
    },
    {
      event: 'help_article.reordered',
      subject: null,
      description: 'The order of the articles in a collection changed.',
      example: { collection_id: collection.id, ids: ['art_904', 'art_871'] },
    },
  ],
);
