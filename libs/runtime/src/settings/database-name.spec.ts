import { expect, it } from '@jest/globals';
import { databaseName } from './database-name.js';

it.each([
  ['postgres://me:secret@DB.example.com/gapless', 'db.example.com:5432/gapless'],
  ['postgresql://you@db.example.com:5432/gapless?sslmode=verify-full', 'db.example.com:5432/gapless'],
  ['postgres:///gapless?host=/run/postgresql&port=5433&user=me', '/run/postgresql:5433/gapless'],
  ['postgres://me:secret@db.example.com', 'db.example.com:5432/me'],
])('names %s without its account', (url, name) => {
  expect(databaseName(url)).toBe(name);
});
