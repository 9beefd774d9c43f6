import { Controller, Get, Header } from '@nestjs/common';
import { SigningKeys, type PublicSigningKey } from '#libs/postgres';

/** Everyone may ask, so the database is asked this often at most, milliseconds. */
const REMEMBERED_MS = 1_000;

/** RFC 7517, RFC 8037. */
function jwkOf({ id, publicKey }: PublicSigningKey) {
  return { kty: 'OKP', crv: 'Ed25519', x: publicKey.toString('base64url'), kid: id, use: 'sig', alg: 'EdDSA' };
}

/** `GET /.well-known/jwks.json`: the public keys that verify `v1a` signatures (contract 6.2). It needs no API key. */
@Controller('.well-known/jwks.json')
export class SigningKeySetController {
  /** Monotonic milliseconds: after a clock was set back, an old set would be shown for as long. */
  #untilMs = -Infinity;
  #known: Promise<readonly PublicSigningKey[]> = Promise.resolve([]);

  constructor(private readonly keys: SigningKeys) {}

  @Get()
  @Header('content-type', 'application/jwk-set+json')
  @Header('cache-control', 'public, max-age=300')
  async read() {
    const nowMs = performance.now();
    if (nowMs >= this.#untilMs) {
      this.#untilMs = nowMs + REMEMBERED_MS;
      this.#known = this.keys.published();
      this.#known.catch(() => {
        this.#untilMs = -Infinity;
      });
    }
    return { keys: (await this.#known).map(jwkOf) };
  }
}
