/**
 * SCRAM-SHA-256 (RFC 5802, 7677), the server's side, as a pure state machine: client texts in, server texts out.
 * Without channel binding, so SCRAM-SHA-256-PLUS is not offered.
 *
 * An unknown user gets a verifier made up from the server's own secret, so that neither the answers nor a second
 * attempt tell it from a known one; it fails at the proof like a wrong password.
 */
import type { Random } from '../base/clock.ts';
import { SqlError } from '../base/error.ts';
import { equalConstantTime } from './constant-time.ts';
import { FatalError, violation } from './frame-reader.ts';

export const SCRAM_MECHANISM = 'SCRAM-SHA-256';
/** PostgreSQL's default: about 4 ms of hashing, spent when a verifier is made, not at each login. */
const ITERATIONS = 4096;
const SALT_BYTES = 16;
const NONCE_BYTES = 18;

/** The three primitives, so that no engine's crypto is assumed. */
export interface ScramCrypto {
  sha256(data: Uint8Array): Promise<Uint8Array>;
  hmacSha256(key: Uint8Array, data: Uint8Array): Promise<Uint8Array>;
  pbkdf2Sha256(password: Uint8Array, salt: Uint8Array, iterations: number): Promise<Uint8Array>;
}

/** What a server keeps instead of a password. */
export interface ScramVerifier {
  readonly iterations: number;
  readonly salt: Uint8Array;
  readonly storedKey: Uint8Array;
  readonly serverKey: Uint8Array;
}

const encoder = new TextEncoder();

function toBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

function fromBase64(text: string): Uint8Array {
  try {
    return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  } catch {
    throw malformed('invalid base64');
  }
}

const malformed = (detail: string): FatalError =>
  new FatalError('protocol_violation', 'malformed SCRAM message', { detail });

/** Characters that SASLprep maps to nothing (RFC 3454, B.1), and those it maps to a space (C.1.2). */
const TO_NOTHING = /\u00AD|\u034F|\u1806|[\u180B-\u180D]|[\u200B-\u200D]|\u2060|[\uFE00-\uFE0F]|\uFEFF/gu;
const TO_SPACE = /[\u00A0\u1680\u2000-\u200A\u202F\u205F\u3000]/gu;

/**
 * SASLprep's mapping and normalization (RFC 4013). Its prohibited characters are let through: PostgreSQL then
 * uses the password unprepared, and nobody has one.
 */
function prepare(password: string): Uint8Array {
  return encoder.encode(password.replace(TO_SPACE, ' ').replace(TO_NOTHING, '').normalize('NFKC'));
}

/** The verifier of a password. */
export async function makeVerifier(
  crypto: ScramCrypto,
  password: string,
  { salt, iterations = ITERATIONS }: { readonly salt: Uint8Array; readonly iterations?: number },
): Promise<ScramVerifier> {
  const salted = await crypto.pbkdf2Sha256(prepare(password), salt, iterations);
  const clientKey = await crypto.hmacSha256(salted, encoder.encode('Client Key'));
  return {
    iterations,
    salt,
    storedKey: await crypto.sha256(clientKey),
    serverKey: await crypto.hmacSha256(salted, encoder.encode('Server Key')),
  };
}

/** PostgreSQL's text of a verifier, as in `pg_authid.rolpassword`. */
export function formatVerifier({ iterations, salt, storedKey, serverKey }: ScramVerifier): string {
  const keys = `${toBase64(storedKey)}:${toBase64(serverKey)}`;
  return `${SCRAM_MECHANISM}$${iterations}:${toBase64(salt)}$${keys}`;
}

/** Reads that text; null if it is none, so that a caller may take it for a password. */
export function parseVerifier(text: string): ScramVerifier | null {
  const match = /^SCRAM-SHA-256\$(\d{1,9}):([\w+/=]+)\$([\w+/=]+):([\w+/=]+)$/.exec(text);
  if (match === null) return null;
  const [salt, storedKey, serverKey] = match.slice(2).map(fromBase64);
  return { iterations: Number(match[1]), salt, storedKey, serverKey };
}

/** Verifiers for a fixed list of users, from passwords or from verifiers' texts, hashed once. */
export async function makeVerifiers(
  passwords: Readonly<Record<string, string>>,
  { crypto, random }: { readonly crypto: ScramCrypto; readonly random: Random },
): Promise<ReadonlyMap<string, ScramVerifier>> {
  const verifiers = new Map<string, ScramVerifier>();
  for (const [user, text] of Object.entries(passwords)) {
    const salt = random.bytes(SALT_BYTES);
    verifiers.set(user, parseVerifier(text) ?? (await makeVerifier(crypto, text, { salt })));
  }
  return verifiers;
}

/** Makes up the verifiers of users that do not exist: the same salt each time, and no password fits. */
export class MockVerifiers {
  readonly #crypto: ScramCrypto;
  readonly #secret: Uint8Array;

  constructor(crypto: ScramCrypto, random: Random) {
    this.#crypto = crypto;
    this.#secret = random.bytes(32);
  }

  async of(user: string): Promise<ScramVerifier> {
    const derived = await this.#crypto.hmacSha256(this.#secret, encoder.encode(user));
    return {
      iterations: ITERATIONS,
      salt: derived.slice(0, SALT_BYTES),
      // Nobody knows a preimage of it, so no proof fits.
      storedKey: await this.#crypto.hmacSha256(this.#secret, derived),
      serverKey: derived,
    };
  }
}

/** A nonce: printable, without a comma. */
export const randomNonce = (random: Random): string => toBase64(random.bytes(NONCE_BYTES));

/** One login: `first`, then `final`. */
export class ScramServer {
  readonly #crypto: ScramCrypto;
  readonly #verifier: ScramVerifier;
  readonly #serverNonce: string;
  #gs2Header = '';
  #nonce = '';
  /** client-first-message-bare and server-first-message, for the signature. */
  #authMessage = '';

  constructor(crypto: ScramCrypto, verifier: ScramVerifier, serverNonce: string) {
    this.#crypto = crypto;
    this.#verifier = verifier;
    this.#serverNonce = serverNonce;
  }

  /** client-first-message to server-first-message. The user name inside is ignored, as in PostgreSQL. */
  first(message: string): string {
    const match = /^((n|y|p=[^,]*),(a=[^,]*)?,)((m=[^,]*,)?n=[^,]*,r=([\x21-\x2b\x2d-\x7e]+)(,.*)?)$/s.exec(
      message,
    );
    if (match === null) throw malformed('client-first-message does not parse');
    const [, header, binding, authzid, bare, extension, clientNonce] = match;
    if (binding.startsWith('p')) throw violation('channel binding was not offered');
    if (authzid !== undefined)
      throw new FatalError('feature_not_supported', 'a SASL authorization identity is not supported');
    if (extension !== undefined)
      throw new FatalError('feature_not_supported', 'a SCRAM extension is not supported');
    this.#gs2Header = header;
    this.#nonce = clientNonce + this.#serverNonce;
    const { salt, iterations } = this.#verifier;
    const serverFirst = `r=${this.#nonce},s=${toBase64(salt)},i=${iterations}`;
    this.#authMessage = `${bare},${serverFirst}`;
    return serverFirst;
  }

  /** client-final-message to server-final-message, or null: the proof is wrong. */
  async final(message: string): Promise<string | null> {
    const match = /^(c=([^,]*),r=([^,]*)(?:,.*)?),p=([^,]*)$/s.exec(message);
    if (match === null) throw malformed('client-final-message does not parse');
    const [, withoutProof, binding, nonce, proofText] = match;
    if (binding !== btoa(this.#gs2Header)) throw violation('SCRAM channel binding check failed');
    if (nonce !== this.#nonce) throw malformed('the nonce does not match');
    const proof = fromBase64(proofText);
    const { storedKey, serverKey } = this.#verifier;
    if (proof.length !== storedKey.length) throw malformed('the proof has the wrong length');
    const authMessage = encoder.encode(`${this.#authMessage},${withoutProof}`);
    const signature = await this.#crypto.hmacSha256(storedKey, authMessage);
    const clientKey = proof.map((byte, i) => byte ^ signature[i]);
    if (!equalConstantTime(await this.#crypto.sha256(clientKey), storedKey)) return null;
    return `v=${toBase64(await this.#crypto.hmacSha256(serverKey, authMessage))}`;
  }
}

/** What a failed login says, whichever part was wrong. */
export const passwordFailed = (user: string): SqlError =>
  new SqlError('invalid_password', `password authentication failed for user "${user}"`);
