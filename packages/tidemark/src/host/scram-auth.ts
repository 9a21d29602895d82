/** SCRAM-SHA-256 over the machine's crypto, for a fixed list of users. */
import { createHash, createHmac, pbkdf2, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import type { Random } from '../base/clock.ts';
import { MockVerifiers, makeVerifiers, type ScramCrypto } from '../pgwire/scram.ts';
import type { Auth } from '../pgwire/startup.ts';

const pbkdf2Async = promisify(pbkdf2);

export const nodeScramCrypto: ScramCrypto = {
  sha256: async (data) => createHash('sha256').update(data).digest(),
  hmacSha256: async (key, data) => createHmac('sha256', key).update(data).digest(),
  // The one that takes milliseconds runs on libuv's pool.
  pbkdf2Sha256: (password, salt, iterations) => pbkdf2Async(password, salt, iterations, 32, 'sha256'),
};

/** Unpredictable, for keys, salts and nonces. */
export const secureRandom: Random = {
  next: () => randomBytes(6).readUIntBE(0, 6) / 2 ** 48,
  bytes: (n) => new Uint8Array(randomBytes(n)),
};

/** Users by name, each with a password or the text of a verifier (`SCRAM-SHA-256$…`). */
export async function scramAuth(passwords: Readonly<Record<string, string>>): Promise<Auth> {
  const [crypto, random] = [nodeScramCrypto, secureRandom];
  const verifiers = await makeVerifiers(passwords, { crypto, random });
  const mock = new MockVerifiers(crypto, random);
  return { kind: 'scram', crypto, random, mock, verify: (user) => verifiers.get(user) ?? null };
}
