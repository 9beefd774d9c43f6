import 'reflect-metadata';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { listen } from './listen.js';

@Module({})
class Empty {}

let app: NestFastifyApplication;
let somebody: Server;
let taken: number;

beforeEach(async () => {
  app = await NestFactory.create<NestFastifyApplication>(Empty, new FastifyAdapter(), { logger: false });
  somebody = createServer().listen(0, '127.0.0.1');
  await once(somebody, 'listening');
  taken = (somebody.address() as AddressInfo).port;
});

afterEach(async () => {
  await app.close();
  somebody.close();
});

describe('a port that somebody else has taken', () => {
  it('is left to them when any other one does, and the process answers there', async () => {
    await listen(app, { host: '127.0.0.1', port: taken, mayMove: true });
    const url = await app.getUrl();
    expect(Number(new URL(url).port)).not.toBe(taken);
    expect((await fetch(url)).status).toBe(404);
  });

  it('ends the start when it was asked for, and says so', async () => {
    const listening = listen(app, { host: '127.0.0.1', port: taken, mayMove: false });
    await expect(listening).rejects.toThrow(
      `PORT: cannot listen at 127.0.0.1, port ${taken}: another process uses it; set another PORT`,
    );
  });
});
